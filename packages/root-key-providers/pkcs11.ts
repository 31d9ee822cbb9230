import { setTimeout as wait } from 'node:timers/promises'
import { StartupError } from '@warder/base'
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
import { openOnce, takeTurn } from './pkcs11-pins.ts'
import { parseTokenUri, type TokenUri } from './pkcs11-settings.ts'
import { combineTokens } from './pkcs11-tokens.ts'
import type { RootKeyConfig } from './settings.ts'

type Config = Pick<RootKeyConfig, Extract<keyof RootKeyConfig, `root_key_pkcs11.${string}`>>

/** A login may take six times as long, so that the token is given up before the provider is (30 s). */
const timeoutMs = 4_000

/** Codes of encryptions in a wrapped root key. */
const encryptions: readonly Encryption[] = ['A256GCM', 'A256KWP', 'A256KW']

/** A token with its key. */
interface TokenSettings {
  readonly library: string
  readonly token: { readonly label: string } | { readonly slot: number }
  readonly pinFile: string
  readonly keyLabel: string
}

/**
 * Wraps the root key with AES-256 keys of PKCS#11 tokens, which never leave them. Each use opens a token and closes it again:
 * a running service does not need it.
 * @throws StartupError for settings without a library, a token or a PIN file
 */
export function createPkcs11Provider(config: Config, resolvePath: (path: string) => string): RootKeyProvider {
  return combineTokens(
    readTokens(config, resolvePath).map((token) => createTokenProvider(token, resolvePath)),
  )
}

function createTokenProvider(
  { library, token, pinFile, keyLabel }: TokenSettings,
  resolvePath: (path: string) => string,
): RootKeyProvider {
  const description = `${'label' in token ? `token ${JSON.stringify(token.label)}` : `slot ${token.slot}`} of ${library}, key ${JSON.stringify(keyLabel)}`
  const use = <Result>(work: (token: Token) => Promise<Result>): Promise<Result> =>
    withToken(
      () =>
        openOnce({
          ...{ description, pinFile, recordPath: resolvePath('root-key-pkcs11.pin') },
          open: () => openToken({ library, token, pinFile, sessions: 1, timeoutMs }),
        }),
      work,
    )
  return {
    source: 'pkcs11',
    description,
    async prepare() {
      // Both services start at the same time.
      const release = await takeTurn(
        resolvePath('root-key-pkcs11.lock'),
        (pid) => `process ${pid} creates the key of the PKCS#11 token`,
      )
      try {
        await use((open) => createKey(open, keyLabel))
      } finally {
        release()
      }
    },
    wrap: (rootKey, context) =>
      use(async (open) => {
        const key = await findKey(open, keyLabel)
        const algorithm = chooseEncryption(open, key, keyLabel)
        const name = key.id === undefined || key.id === '' ? { label: keyLabel } : { id: key.id }
        const encrypted = await encryptOnceCreated(() =>
          open.encrypt(name, rootKey, { additionalData: context, algorithm }),
        )
        return encodeWrapped(encrypted, 'id' in name ? name.id : '')
      }),
    unwrap: (wrapped, context) =>
      use(async (open) => {
        const { encrypted, id } = decodeWrapped(wrapped)
        return open.decrypt(id === '' ? { label: keyLabel } : { id }, encrypted, context)
      }),
  }
}

/** @throws StartupError */
function readTokens(config: Config, resolvePath: (path: string) => string): readonly TokenSettings[] {
  const {
    'root_key_pkcs11.token_label': label,
    'root_key_pkcs11.slot': slot,
    'root_key_pkcs11.tokens': uris,
    'root_key_pkcs11.key_label': defaultKeyLabel,
  } = config
  const complete = ({ token, library, pinFile, keyLabel }: TokenUri): TokenSettings => ({
    token,
    library: resolvePath(library ?? requireSetting(config, 'library')),
    pinFile: resolvePath(pinFile ?? requireSetting(config, 'pin_file')),
    keyLabel: keyLabel ?? defaultKeyLabel,
  })
  const single = { library: undefined, pinFile: undefined, keyLabel: undefined }
  if (uris.length > 0 && label === undefined && slot === undefined)
    return uris.map(parseTokenUri).flatMap((uri) => (typeof uri === 'string' ? [] : [complete(uri)]))
  if (uris.length === 0 && label !== undefined && slot === undefined)
    return [complete({ ...single, token: { label } })]
  if (uris.length === 0 && label === undefined && slot !== undefined)
    return [complete({ ...single, token: { slot: Number(slot) } })]
  throw new StartupError(
    'root_key_source pkcs11 requires either root_key_pkcs11.token_label, root_key_pkcs11.slot or root_key_pkcs11.tokens',
  )
}

function requireSetting(config: Config, name: 'library' | 'pin_file'): string {
  const value = config[`root_key_pkcs11.${name}`]
  if (value === undefined) throw new StartupError(`root_key_source pkcs11 requires root_key_pkcs11.${name}`)
  return value
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

async function createKey(token: Token, label: string): Promise<void> {
  try {
    await token.generateKey(label)
  } catch (error) {
    if (!(error instanceof TokenError && error.code === 'key_exists')) throw error
  }
}

/**
 * Nodes whose first starts were at the same time may have created a key each. All of these keys are used, since a
 * wrapped root key identifies its key; new root keys are wrapped by the first.
 */
async function findKey(token: Token, label: string): Promise<KeyAttributes> {
  try {
    return await token.attributes('secret', { label })
  } catch (error) {
    if (!(error instanceof TokenError && error.code === 'key_ambiguous')) throw error
    const [id] = await token.ids('secret', label)
    if (id === undefined) throw error
    return token.attributes('secret', { id })
  }
}

/** A key that another machine creates gets its value within this time. */
const [creationAttempts, creationPauseMs] = [50, 100]

/**
 * Tries again while the token refuses to use the key: a key that another machine is creating can be found before it
 * has its value (SoftHSM creates an object, then sets CKA_VALUE, and refuses it with CKR_MECHANISM_INVALID until then).
 */
async function encryptOnceCreated(encrypt: () => Promise<Encrypted>): Promise<Encrypted> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await encrypt()
    } catch (error) {
      const isRefused = error instanceof TokenError && error.code === 'not_supported'
      if (!isRefused || attempt >= creationAttempts) throw error
      await wait(creationPauseMs)
    }
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
