-- Earlier versions made the secret only when something needed it. With it, a start knows that a service has used this shop, and that
-- a schema mail without a ledger was lost. Of its 32 bytes, 244 bits are random.
insert into shop.installation (id, secret)
select 1, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
where exists (select 1 from shop.api_key) or exists (select 1 from shop.purchase)
on conflict do nothing;
