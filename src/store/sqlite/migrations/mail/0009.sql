-- What a list shows of a parsed mail besides its code; null until it was scanned.
alter table message add column preview text;
alter table message add column attachments integer;
