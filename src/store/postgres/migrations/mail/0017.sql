-- True once all entries of the ledger are HMACs, and one of them is the check value: if that is missing later, entries were lost.
alter table mail.ledger_state add column converted boolean not null default false;
