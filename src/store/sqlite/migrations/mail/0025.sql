-- Certificates, and what is needed to obtain them; see src/tls/store.ts. Only on many nodes: a single one has files.
create table tls_entry (
  kind  text not null,
  name  text not null,
  value text not null,
  primary key (kind, name)
) strict, without rowid;
