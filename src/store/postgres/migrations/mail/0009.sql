-- What a list shows of a parsed mail besides its code; null until it was scanned.
alter table mail.message
  add column preview text,
  add column attachments integer;
