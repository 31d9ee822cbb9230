import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../cli/command.ts'
import { requireNoNames } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import type { JweMember } from '../crypto-files/wrapped-key.ts'
import { keyOption, readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'
import { isSameKey, readProtection, selectProtection } from './key-use.ts'

/** The service takes bodies of 64 MiB; base64url makes a third more of the bytes, and JSON is around them. */
export const maxDataBytes = 32 * 1024 * 1024
const maxJweBytes = 64 * 1024 * 1024

const mebibytes = maxDataBytes / 1024 / 1024
type Jwe = Readonly<Record<JweMember, string | undefined>>

function toBase64url(readMember: string): string {
  return Buffer.from(readMember, 'utf8').toString('base64url')
}

/** A flattened JWE (RFC 7516 §7.2.2). @throws StartupError */
function readJwe(bytes: Buffer): Jwe {
  const broken = new StartupError(
    'standard input is not what warder crypto encrypt-data wrote (a flattened JWE)',
  )
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

/** The key that a JWE's header names; undefined when it names none. */
function readHeaderKeyId(header: string): string | undefined {
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { kid?: unknown }
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/** @throws UsageError for an empty one, as of a variable that is not set: a JWE would not be bound to it (RFC 7516 §7.2.1) */
function readAad(aad: string | undefined): string | undefined {
  if (aad === '') throw new UsageError('--aad is empty: say what the data belongs to, or leave it out')
  return aad
}

/** Said here, so that nobody takes data of one place for data of another: the JWE itself would open. */
function requireAad(found: string | undefined, givenAad: string | undefined): void {
  if (found === (givenAad === undefined ? undefined : toBase64url(givenAad))) return
  if (found === undefined) throw new StartupError('it was encrypted without --aad: leave it out')
  throw new StartupError(
    `it was encrypted with ${givenAad === undefined ? 'an --aad: say which' : 'another --aad'}`,
  )
}

export const encryptDataVerb = kmsVerb({
  name: 'encrypt-data',
  words: '',
  summary: 'encrypts standard input in the service; writes a flattened JWE to standard output',
  about: `For what is small: a password, a token, a row of a database; ${mebibytes} MiB at most. The data goes to the service and
comes back as a JWE (RFC 7516) in JSON, on one line. Takes the right encrypt on KEY.`,
  examples: [
    "printf %s 'a secret' | warder crypto encrypt-data --key KEY --aad 'row 17' > secret.jwe",
    "warder crypto decrypt-data --aad 'row 17' < secret.jwe",
  ],
  options: {
    key: keyOption,
    aad: {
      type: 'text',
      value: 'TEXT',
      help: 'what the data belongs to, as "row 17"; not secret; to be said again to decrypt it',
    },
    alg: {
      type: 'text',
      value: 'ALG',
      help: 'how KEY is used: A256GCM, A192GCM, A128GCM, RSA-OAEP-256 or RSA-OAEP (default: as KEY is)',
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
  summary: 'decrypts a flattened JWE of standard input; writes the data, as it was, to standard output',
  about: 'Takes the right decrypt on the key that the JWE names.',
  examples: ["warder crypto decrypt-data --aad 'row 17' < secret.jwe"],
  options: {
    aad: {
      type: 'text',
      value: 'TEXT',
      help: 'what was said when it was encrypted; nothing comes out if it was something else',
    },
    key: {
      type: 'text',
      value: 'KEY',
      help: 'only this key may have encrypted it; else it may be any that you may decrypt with',
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
          printable(`it is encrypted with another key, ${kid}: leave --key out to accept it`),
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
