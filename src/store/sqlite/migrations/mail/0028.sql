-- Addresses that are not assigned again, whatever becomes of their session: HMACs, as in address_ledger.
create table kept_address (
  hmac text primary key
) strict, without rowid;
