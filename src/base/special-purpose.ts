import { isIP } from 'node:net'
import { ipRangeMatcher, plainIp } from './ip.ts'

// The registries of special-purpose addresses of IANA, complete, including the few that are globally reachable; and multicast.
const SPECIAL_IPV4 = ipRangeMatcher(
  `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
  192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4`.split(/\s+/),
)
// Outside of global unicast are loopback, IPv4-mapped and compatible addresses, NAT64, unique local, link-local, multicast and
// all that is not assigned.
const GLOBAL_IPV6 = ipRangeMatcher(['2000::/3'])
const SPECIAL_IPV6 = ipRangeMatcher(
  '2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20'.split(' '),
)
// RFC 5214: an IPv4 address inside of an interface identifier.
const ISATAP = /:(?:0|200)?:5efe:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/

/** True for every address that is not an ordinary public one. */
export function isSpecialPurpose(ip: string): boolean {
  if (isIP(ip) === 4) return SPECIAL_IPV4(ip)
  if (isIP(ip) === 0 || plainIp(ip) !== ip) return true
  const canonical = new URL(`http://[${ip}]`).hostname.slice(1, -1)
  return !GLOBAL_IPV6(ip) || SPECIAL_IPV6(ip) || ISATAP.test(canonical)
}
