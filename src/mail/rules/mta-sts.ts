/** The policy to serve at `https://mta-sts.DOMAIN/.well-known/mta-sts.txt`. */
export const mtaStsPolicy = (host: string, mode: 'enforce' | 'testing') =>
  `version: STSv1\nmode: ${mode}\nmx: ${host}\nmax_age: 604800\n`
