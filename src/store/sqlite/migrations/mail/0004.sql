-- What is read from a mail besides its text: the code it brings, and whether it comes from whom it names.

alter table message add column code text;    -- the likeliest one; '' when it has none, null until somebody looked

-- How many codes were noted. Apart from the version, which is also what keys see: a code is nothing to them.
alter table session add column codes integer not null default 0;

alter table raw_mail add column auth text;   -- the sender checks as JSON; null until they were made

-- Parses from before have no codes and no links: each is made anew when somebody asks.
delete from parsed_mail;
