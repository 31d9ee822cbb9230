import { StartupError } from '@warder/base'
import { printable, requireNoNames, UsageError } from '@warder/command-line'
import { keyOption, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import type { JweMember } from '../crypto-files/wrapped-key.ts'
import { isSameKey, readProtection, selectProtection } from './key-use.ts'

/** The service accepts bodies of 64 MiB; base64url adds a third, and JSON some more. */
export const maxDataBytes = 32 * 1024 * 1024
const maxJweBytes = 64 * 1024 * 1024

const mebibytes = maxDataBytes / 1024 / 1024
type Jwe = Readonly<Record<JweMember, string | undefined>>

function toBase64url(readMember: string): string {
  return Buffer.from(readMember, 'utf8').toString('base64url')
}

/** A flattened JWE (RFC 7516 §7.2.2). @throws StartupError */
function readJwe(bytes: Buffer): Jwe {
  const broken = new StartupError('standard input is not a flattened JWE of warder crypto encrypt-data')
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw broken
  }
  if (typeof json !== 'object' || json === null) throw broken
  const found = json as Readonly<Record<string, unknown>>
  const readMember = (name: JweMember): string | undefined => {
    const value = found[name]
    if (value === undefined || typeof value === 'string') return value
    throw broken
  }
  return {
    protected: readMember('protected'),
    encrypted_key: readMember('encrypted_key'),
    iv: readMember('iv'),
    ciphertext: readMember('ciphertext'),
    tag: readMember('tag'),
    aad: readMember('aad'),
  }
}

/** Reads the key id in the header of a JWE; undefined when there is none. */
function readHeaderKeyId(header: string): string | undefined {
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { kid?: unknown }
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/** @throws UsageError for an empty text, such as from an unset variable, which would not bind the JWE (RFC 7516 §7.2.1) */
function readAad(aad: string | undefined): string | undefined {
  if (aad === '') throw new UsageError('--aad is empty: give the context of the data, or omit the option')
  return aad
}

/** Checks the context here, because the JWE itself decrypts with the additional data that it contains. */
function requireAad(found: string | undefined, givenAad: string | undefined): void {
  if (found === (givenAad === undefined ? undefined : toBase64url(givenAad))) return
  if (found === undefined) throw new StartupError('the data was encrypted without --aad: omit it')
  throw new StartupError(
    `the data was encrypted with ${givenAad === undefined ? 'an --aad: give the same' : 'another --aad'}`,
  )
}

export const encryptDataVerb = kmsVerb({
  name: 'encrypt-data',
  words: '',
  summary: 'Encrypt standard input in the service; writes a flattened JWE to standard output',
  about: `For small data such as a password, a token or a database row, up to ${mebibytes} MiB. The data is sent to the service, which
returns a JWE (RFC 7516) as JSON on one line. Requires the right encrypt on KEY.`,
  examples: [
    "printf %s 'a secret' | warder crypto encrypt-data --key KEY --aad 'row 17' > secret.jwe",
    "warder crypto decrypt-data --aad 'row 17' < secret.jwe",
  ],
  options: {
    key: keyOption,
    aad: {
      type: 'text',
      value: 'TEXT',
      help: 'context of the data, such as "row 17"; not secret; required again for decryption',
    },
    alg: {
      type: 'text',
      value: 'ALG',
      help: 'algorithm: A256GCM, A192GCM, A128GCM, RSA-OAEP-256 or RSA-OAEP (default: that of KEY)',
    },
  },
  readsInput: () => true,
  parse({ key, aad: givenAad, alg: usedAs }, names) {
    requireNoNames(names)
    const kid = readKid(key)
    const aad = readAad(givenAad)
    const asked = readProtection(usedAs)
    return async ({ kms, readInput, writeOutput }) => {
      const data = (await readInput(maxDataBytes)).toString('base64url')
      const { alg, enc } = await selectProtection(kms, kid, asked)
      const body = { kid, alg, enc, data, ...(aad !== undefined && { aad: toBase64url(aad) }) }
      const jwe = await withKeyErrors('key', kid, () => kms.call('crypto.encrypt', { body }))
      await writeOutput(Buffer.from(`${JSON.stringify(jwe)}\n`))
      return 0
    }
  },
})

export const decryptDataVerb = kmsVerb({
  name: 'decrypt-data',
  words: '',
  summary: 'Decrypt a flattened JWE from standard input; writes the plaintext to standard output',
  about: 'Requires the right decrypt on the key that the JWE names.',
  examples: ["warder crypto decrypt-data --aad 'row 17' < secret.jwe"],
  options: {
    aad: {
      type: 'text',
      value: 'TEXT',
      help: 'context that was given for encryption; decryption fails for another one',
    },
    key: {
      type: 'text',
      value: 'KEY',
      help: 'accepts only this key (default: any key that you may decrypt with)',
    },
  },
  readsInput: () => true,
  parse({ aad: givenAad, key: named }, names) {
    requireNoNames(names)
    const aad = readAad(givenAad)
    const only = named === undefined ? undefined : readKid(named)
    return async ({ kms, readInput, writeOutput }) => {
      const jwe = readJwe(await readInput(maxJweBytes))
      const { protected: header = '', encrypted_key, iv = '', ciphertext = '', tag = '' } = jwe
      const kid = readHeaderKeyId(header)
      if (kid === undefined) throw new StartupError('the header of the JWE names no key')
      requireAad(jwe.aad === '' ? undefined : jwe.aad, aad)
      if (only !== undefined && !(await isSameKey(kms, kid, only))) {
        throw new StartupError(
          printable(`the data is encrypted with another key, ${kid}: omit --key to accept it`),
        )
      }
      const body = {
        protected: header,
        iv,
        ciphertext,
        tag,
        ...(encrypted_key !== undefined && { encrypted_key }),
        ...(jwe.aad !== undefined && { aad: jwe.aad }),
      }
      const { data } = await withKeyErrors('the key of the data,', kid, () =>
        kms.call('crypto.decrypt', { body }),
      )
      await writeOutput(Buffer.from(data, 'base64url'))
      return 0
    }
  },
})
