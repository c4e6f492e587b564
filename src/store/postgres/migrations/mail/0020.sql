-- How many links a person is meant to follow; null until the message was scanned by a version that counts them.
alter table mail.message add column links integer;
