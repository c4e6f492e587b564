-- Addresses that are not assigned again, whatever becomes of their session: HMACs, as in address_ledger.
create table mail.kept_address (
  hmac text collate "C" primary key
);
