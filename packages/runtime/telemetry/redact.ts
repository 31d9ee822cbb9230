import { privateJwkMembers, Secret } from '@warder/base'

const hidden = '[secret]'
const maxDepth = 8
const maxTextLength = 8_192
const maxMembers = 200

/** Members that hold secrets wherever they stand, lower case without separators. */
const secretNames = new Set([
  'password',
  'passphrase',
  'plaintext',
  'passwordinput',
  'passwordhash',
  'newpassword',
  'secret',
  'secretid',
  'clientsecret',
  'totpsecret',
  'totpcode',
  'token',
  'clienttoken',
  'jwt',
  'authorization',
  'cookie',
  'setcookie',
  'cookiestring',
  'xsecrettoken',
  'xvaulttoken',
  'privatekey',
  'keymaterial',
  'samlresponse',
])

/** Hidden in an object that has `kty`. */
const jwkPrivate = new Set(privateJwkMembers)

/** A copy of log fields that shows nothing secret: by type (`Secret`, bytes) and by name of the member. Bounded. */
export function redact(value: unknown, depth = 0): unknown {
  if (value === null || typeof value === 'number' || typeof value === 'boolean' || value === undefined)
    return value
  if (typeof value === 'string')
    return value.length > maxTextLength ? `${value.slice(0, maxTextLength)}...` : value
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object') return `[${typeof value}]`
  if (value instanceof Secret) return hidden
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Date) return value.toISOString()
  if (depth >= maxDepth) return '[deep]'
  if (value instanceof Error) return redactError(value, depth)
  if (Array.isArray(value)) return value.slice(0, maxMembers).map((item) => redact(item, depth + 1))
  const isJwk = 'kty' in value
  const shown: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value).slice(0, maxMembers)) {
    const plain = name.toLowerCase().replaceAll(/[-_]/g, '')
    const secret = secretNames.has(plain) || (isJwk && jwkPrivate.has(name))
    shown[name] = secret && member !== undefined && member !== null ? hidden : redact(member, depth + 1)
  }
  return shown
}

/** Name, message, code, stack and cause; nothing else that an error may carry along. */
function redactError(error: Error, depth: number): Record<string, unknown> {
  const { code, detail } = error as Error & { code?: unknown; detail?: unknown }
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
  }
}
