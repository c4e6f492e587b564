import { parseAddress, parseHost, parseMailDomain } from '../../../../src/base/address.ts'
import { firstMailbox, readAddress } from '../../../../src/mime/addresses.ts'
import { parsePath } from '../../../../src/smtp/parser.ts'
import { isReversePath } from '../../../../src/smtp/reverse-path.ts'
import { readIsemail } from '../../smtp/isemail.ts'
import { bytesOf } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const cases = [...readIsemail('tests.xml'), ...readIsemail('tests-original.xml')]

/** An address in MAIL, RCPT, a parameter and a header. */
export const target: FuzzTarget = {
  seeds: bytesOf(cases.map(({ address }) => address).filter(Boolean)),
  tokens: (
    '@|.|..|"|\\|"a b"|[127.0.0.1]|[IPv6:::1]|(c)|<|>|,|:|ann@box.test|@a.test,@b.test:|xn--|bücher|%|!|+tag|*.|ß|\u0130|\u212a|' +
    '\u3002|\uff0e|\uff20|\u200e|\u00ad|\0|\r\n|e\u0301|postmaster|1.2.3|0x7f'
  ).split('|'),
  maxBytes: 400,
  run(input) {
    const text = input.toString()
    const address = parseAddress(text)
    if (address !== undefined) {
      check(/^[a-z0-9._+-]+@[a-z0-9._-]+$/.test(address), `not canonical: ${address}`)
      check(parseAddress(address) === address, `reads ${address} in another way`)
      check(
        parseAddress(text.toUpperCase()) !== undefined || /[^ -~]/.test(text),
        'depends on the case',
      )
      check(isReversePath(address), `${address} may receive, but not send`)
      check(readAddress(address) === address, `${address} is none in a header`)
      const shown = firstMailbox(`"x" <${address}>`)?.address
      check(shown === address, `${address} is ${shown} in a header`)
    }
    const host = parseHost(text)
    check(host === undefined || parseHost(host) === host, `reads ${host} in another way`)
    const domain = parseMailDomain(text)
    check(
      domain === undefined || parseMailDomain(domain) === domain,
      `reads ${domain} in another way`,
    )
    const path = parsePath('TO:', `TO:<${text}> SIZE=1`)
    const isPath = path?.parameters === 'SIZE=1' && isReversePath(path.path)
    check(!isPath || !/[\r\n\0]/.test(path.path), 'a line break in a path')
    const read = readAddress(text)
    check(read === '' || readAddress(read) === read, `reads ${read} in another way`)
    return address !== undefined || isPath || read !== ''
  },
}
