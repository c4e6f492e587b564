-- The lists of the operator, newest first.
create index api_key_created on shop.api_key (created_at, id);
create index webhook_created on shop.webhook (created_at, id);
