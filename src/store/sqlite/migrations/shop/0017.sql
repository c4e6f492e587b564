-- Earlier versions made the secret only when something needed it. With it, a start knows that a service has used this shop, and that
-- a mail.db without a ledger was lost.
insert into installation (id, secret)
select 1, randomblob(32) where exists (select 1 from api_key) or exists (select 1 from purchase)
on conflict do nothing;
