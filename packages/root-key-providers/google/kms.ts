import { type Clock, StartupError, systemClock } from '@warder/base'
import { type RootKeyProvider, RootKeyUnavailable } from '@warder/storage'
import {
  addKeyName,
  createCloudClient,
  decodeMember,
  decodeWrapped,
  encodeWrapped,
  isTemporary,
  type Members,
  type Reply,
  toPhrase,
  toRefusalError,
} from '../cloud.ts'
import type { GoogleConfig } from '../cloud-settings.ts'
import { createBearerClient } from '../oauth.ts'
import { chooseGoogleCredentials } from './credentials.ts'

/**
 * Wraps the root key with a symmetric key of Google Cloud KMS (`encrypt` and `decrypt` of its REST interface). The context
 * is the additional authenticated data. CRC32C checksums guard each value in both directions. The wrapped bytes record the
 * version of the key.
 * @param env of the process, for credentials
 * @throws StartupError for settings without a key or credentials, and for files that cannot be used
 */
export function createGoogleKmsProvider(
  config: GoogleConfig,
  resolvePath: (path: string) => string,
  env: NodeJS.ProcessEnv,
  clock: Clock = systemClock,
): RootKeyProvider {
  const key = config['root_key_google.key']
  if (key === undefined) throw new StartupError('root_key_source google-kms requires root_key_google.key')
  const endpoint = config['root_key_google.endpoint']?.replace(/\/$/, '') ?? 'https://cloudkms.googleapis.com'
  const outbound = createCloudClient(config['root_key_google.ca_file'], config, resolvePath)
  const now = (): number => clock.now()
  const source = chooseGoogleCredentials(config, { resolvePath, env, outbound, now })
  const request = createBearerClient(endpoint, source, { outbound, now })

  const call = async (operation: Operation, members: object): Promise<Members> => {
    const reply = await request(`${endpoint}/v1/${key}:${operation}`, members)
    return requireSuccess(reply, { operation, endpoint, key, account: source.description })
  }

  /** Decodes a member of a reply, and verifies its checksum. @throws RootKeyUnavailable */
  const readChecked = (reply: Members, member: string): Buffer => {
    const bytes = decodeMember(endpoint, reply, member)
    if (String(reply[`${member}Crc32c`]) !== String(crc32c(bytes)))
      throw new RootKeyUnavailable(`the ${member} of ${endpoint} was changed on the way (CRC32C)`)
    return bytes
  }

  return {
    source: 'google-kms',
    description: `${endpoint} ${key}`,
    async wrap(rootKey, context) {
      const reply = await call('encrypt', {
        ...withChecksum('plaintext', rootKey),
        ...withChecksum('additionalAuthenticatedData', context),
      })
      if (reply.verifiedPlaintextCrc32c !== true || reply.verifiedAdditionalAuthenticatedDataCrc32c !== true)
        throw new RootKeyUnavailable(`${endpoint} did not verify the checksums of the request (CRC32C)`)
      const version = toPhrase(reply.name)
      if (!isKeyVersion(key, version))
        throw new StartupError(
          `${endpoint} used ${version === '' ? 'no key' : `the key ${version}`}, which is not root_key_google.key`,
        )
      return encodeWrapped(version, readChecked(reply, 'ciphertext'))
    },
    async unwrap(wrapped, context) {
      const { keyName: version, ciphertext } = decodeWrapped(wrapped, 'google-kms')
      if (!isKeyVersion(key, version))
        throw new StartupError(
          `root_key_google.key is ${key}, but ${version} wrapped the root key: set root_key_google.key to that key`,
        )
      const reply = await call('decrypt', {
        ...withChecksum('ciphertext', ciphertext),
        ...withChecksum('additionalAuthenticatedData', context),
      }).catch(addKeyName(version))
      return readChecked(reply, 'plaintext')
    },
  }
}

type Operation = 'encrypt' | 'decrypt'

function withChecksum(name: string, bytes: Uint8Array): Readonly<Record<string, string>> {
  return { [name]: Buffer.from(bytes).toString('base64'), [`${name}Crc32c`]: String(crc32c(bytes)) }
}

function isKeyVersion(key: string, version: string): boolean {
  return version.startsWith(`${key}/cryptoKeyVersions/`) && /\/\d{1,19}$/.test(version)
}

interface Called {
  readonly operation: Operation
  readonly endpoint: string
  readonly key: string
  readonly account: string
}

/** @throws RootKeyUnavailable, StartupError */
function requireSuccess({ status, json }: Reply, called: Called): Members {
  if (status === 200 && json !== undefined) return json
  const { operation, endpoint } = called
  const error = { ...(json?.error as Members | undefined) }
  const code = toPhrase(error.status)
  throw toRefusalError({
    ...{ server: endpoint, operation, code: `${status} ${code}`.trim(), message: error.message },
    temporary: isTemporary(status),
    advice: advise(status, code, called),
  })
}

function advise(status: number, code: string, { operation, key, account }: Called): string | undefined {
  if (status === 401) return `the credentials of ${account} are not accepted`
  if (code === 'PERMISSION_DENIED')
    return `grant roles/cloudkms.cryptoKeyEncrypterDecrypter on ${key} to ${account}, or check that the key exists`
  if (code === 'NOT_FOUND') return `there is no key ${key}: check root_key_google.key`
  if (code === 'FAILED_PRECONDITION')
    return 'enable the version of the key (gcloud kms keys versions enable), or restore it if its destruction is scheduled; its purpose must be ENCRYPT_DECRYPT'
  if (code === 'INVALID_ARGUMENT' && operation === 'decrypt')
    return 'the wrapped root key was changed, or belongs to another key or database'
  return code === '' ? 'is root_key_google.endpoint one of Cloud KMS?' : undefined
}

/** Table of the polynomial of Castagnoli, reflected. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0x82f63b78 : 0)
  return value >>> 0
})

/** CRC32C (RFC 3720 §12.1), by which Cloud KMS detects bytes that were changed on the way. */
export function crc32c(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8)
  return (value ^ 0xffffffff) >>> 0
}
