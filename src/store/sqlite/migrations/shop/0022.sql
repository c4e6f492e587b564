-- How many domains of its holder a key may have. Keys that were sold before get what the default plans have now.
alter table api_key add column max_domains integer not null default 0;
update api_key set max_domains = case plan when 'starter' then 1 when 'business' then 5 else 0 end;
