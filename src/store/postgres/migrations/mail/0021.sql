-- Mails that the rules of the session refused.
alter table mail.session add column refused integer not null default 0;
