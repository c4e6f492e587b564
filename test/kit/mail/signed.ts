import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { DKIMSignOptions } from 'mailauth'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'

export function rsaKey(modulusLength = 2_048) {
  return keyOf(generateKeyPairSync('rsa', { modulusLength }))
}

export function ed25519Key() {
  return keyOf(generateKeyPairSync('ed25519'))
}

type Key = ReturnType<typeof rsaKey>

function keyOf({ publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }) {
  const der = publicKey.export({ type: 'spki', format: 'der' })
  const short = publicKey.asymmetricKeyType === 'ed25519'
  const shown = (short ? der.subarray(-32) : der).toString('base64')
  return {
    secret: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    /** The TXT record of the key. */
    record: `v=DKIM1; k=${short ? 'ed25519' : 'rsa'}; p=${shown}`,
  }
}

/** The mail with a signature by sender.test, or as the options say. */
export async function signed(
  mail: string,
  key: Key,
  options: Partial<DKIMSignOptions> = {},
): Promise<string> {
  const signature = {
    signingDomain: 'sender.test',
    selector: 's1',
    privateKey: key.secret,
    canonicalization: 'relaxed/relaxed',
    ...options,
  }
  const { signatures, errors } = await dkimSign(Buffer.from(mail), {
    ...signature,
    signatureData: [signature],
  })
  if (errors.length > 0) throw new Error(JSON.stringify(errors))
  return signatures + mail
}
