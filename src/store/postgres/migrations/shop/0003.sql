-- Rises when a renewal sets used to 0: a request is given back only to the period it was taken from.
alter table shop.api_key add column period integer not null default 0;
