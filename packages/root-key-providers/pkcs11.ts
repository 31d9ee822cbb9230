import { StartupError, takeLock } from '@warder/base'
import {
  type Encrypted,
  type Encryption,
  type KeyAttributes,
  openToken,
  type Token,
  TokenError,
  type TokenErrorCode,
} from '@warder/pkcs11'
import { type RootKeyProvider, RootKeyUnavailable } from '@warder/storage'
import type { RootKeyConfig } from './settings.ts'

type Config = Pick<RootKeyConfig, Extract<keyof RootKeyConfig, `root_key_pkcs11.${string}`>>

/** A login may take six times as long, so that the token is given up before the provider is (30 s). */
const timeoutMs = 4_000

/** Codes of encryptions in a wrapped root key. */
const encryptions: readonly Encryption[] = ['A256GCM', 'A256KWP', 'A256KW']

/**
 * Wraps the root key with an AES-256 key of a PKCS#11 token, which never leaves it. Each use opens the token and closes it
 * again: a running service does not need it.
 * @throws StartupError for settings without a library, a token or a PIN file
 */
export function createPkcs11Provider(config: Config, resolvePath: (path: string) => string): RootKeyProvider {
  const library = resolvePath(requireSetting(config, 'library'))
  const token = readToken(config)
  const pinFile = resolvePath(requireSetting(config, 'pin_file'))
  const keyLabel = config['root_key_pkcs11.key_label']
  const use = <Result>(work: (token: Token) => Promise<Result>): Promise<Result> =>
    withToken(() => openToken({ library, token, pinFile, sessions: 1, timeoutMs }), work)
  return {
    source: 'pkcs11',
    description: `${'label' in token ? `token ${JSON.stringify(token.label)}` : `slot ${token.slot}`} of ${library}, key ${JSON.stringify(keyLabel)}`,
    async prepare() {
      // Both services start at the same time.
      const release = await takeTurn(resolvePath('root-key-pkcs11.lock'))
      try {
        await use((open) => createKey(open, keyLabel))
      } finally {
        release()
      }
    },
    wrap: (rootKey, context) =>
      use(async (open) => {
        const key = await open.attributes('secret', { label: keyLabel })
        const algorithm = chooseEncryption(open, key, keyLabel)
        const name = key.id === undefined || key.id === '' ? { label: keyLabel } : { id: key.id }
        const encrypted = await open.encrypt(name, rootKey, { additionalData: context, algorithm })
        return encodeWrapped(encrypted, 'id' in name ? name.id : '')
      }),
    unwrap: (wrapped, context) =>
      use(async (open) => {
        const { encrypted, id } = decodeWrapped(wrapped)
        return open.decrypt(id === '' ? { label: keyLabel } : { id }, encrypted, context)
      }),
  }
}

function requireSetting(config: Config, name: 'library' | 'pin_file'): string {
  const value = config[`root_key_pkcs11.${name}`]
  if (value === undefined) throw new StartupError(`root_key_source pkcs11 requires root_key_pkcs11.${name}`)
  return value
}

function readToken(config: Config): { readonly label: string } | { readonly slot: number } {
  const { 'root_key_pkcs11.token_label': label, 'root_key_pkcs11.slot': slot } = config
  if (label !== undefined && slot === undefined) return { label }
  if (label === undefined && slot !== undefined) return { slot: Number(slot) }
  throw new StartupError(
    'root_key_source pkcs11 requires either root_key_pkcs11.token_label or root_key_pkcs11.slot',
  )
}

async function withToken<Result>(
  open: () => Promise<Token>,
  work: (token: Token) => Promise<Result>,
): Promise<Result> {
  try {
    const token = await open()
    try {
      return await work(token)
    } finally {
      await token.close()
    }
  } catch (error) {
    if (!(error instanceof TokenError)) throw error
    if (passing.includes(error.code)) throw new RootKeyUnavailable(error.message, { cause: error })
    throw new StartupError(formatRefusal(error), { cause: error })
  }
}

/** Errors after which another attempt may succeed. */
const passing: readonly TokenErrorCode[] = ['library_failed', 'token_not_found', 'token_unavailable']

function formatRefusal({ code, message }: TokenError): string {
  if (code === 'key_not_found')
    return `${message}; the first start, warder root-key move and rotate create the key of root_key_pkcs11.key_label`
  if (code === 'invalid_data')
    return `${message}: the key there is not the one that wrapped the root key, or the wrapped root key was changed`
  return message
}

async function takeTurn(lock: string): Promise<() => void> {
  try {
    return takeLock(lock, (pid) => `process ${pid} creates the key of the PKCS#11 token`)
  } catch (error) {
    throw new RootKeyUnavailable(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

async function createKey(token: Token, label: string): Promise<void> {
  try {
    await token.generateKey(label)
  } catch (error) {
    if (!(error instanceof TokenError && error.code === 'key_exists')) throw error
  }
}

/** @throws StartupError for a key that can leave the token, or that cannot wrap */
function chooseEncryption(token: Token, key: KeyAttributes, label: string): Encryption {
  const refuse = (reason: string): StartupError =>
    new StartupError(
      `the key ${JSON.stringify(label)} of the PKCS#11 token ${reason}: choose another root_key_pkcs11.key_label`,
    )
  if (key.extractable !== false || key.sensitive !== true)
    throw refuse('is not sensitive, or can be extracted, so that it protects nothing')
  if (key.valueBytes !== undefined && key.valueBytes !== 32)
    throw refuse(`has ${8 * key.valueBytes} bits instead of 256`)
  const isPermitted = (name: Encryption): boolean | undefined =>
    name === 'A256GCM' ? key.encrypt && key.decrypt : key.wrap && key.unwrap
  const found = token.encryptions.find((name) => isPermitted(name) === true)
  if (found === undefined) throw refuse('permits neither AES-GCM nor AES key wrap')
  return found
}

/** Version (1 byte), encryption (1), length and bytes of the key's CKA_ID, length and bytes of the IV, ciphertext. */
function encodeWrapped({ algorithm, iv, ciphertext }: Encrypted, id: string): Buffer {
  const name = Buffer.from(id, 'hex')
  return Buffer.concat([
    Uint8Array.of(1, encryptions.indexOf(algorithm), name.length),
    name,
    Uint8Array.of(iv.length),
    iv,
    ciphertext,
  ])
}

/** @throws StartupError */
function decodeWrapped(wrapped: Uint8Array): { readonly encrypted: Encrypted; readonly id: string } {
  const bytes = Buffer.from(wrapped)
  const idEnd = 3 + (bytes[2] ?? 0)
  const ivEnd = idEnd + 1 + (bytes[idEnd] ?? 0)
  const algorithm = encryptions[bytes[1] ?? encryptions.length]
  if (bytes[0] !== 1 || algorithm === undefined || bytes.length <= ivEnd)
    throw new StartupError(
      'the wrapped root key was not made by a PKCS#11 token, or by a later version of Warder',
    )
  const encrypted = { algorithm, iv: bytes.subarray(idEnd + 1, ivEnd), ciphertext: bytes.subarray(ivEnd) }
  return { encrypted, id: bytes.toString('hex', 3, idEnd) }
}
