import { readFileSync } from 'node:fs'
import type { Input } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../command/command.ts'

export type KeyRequest = Input<'crypto.keys.create'>['body']

export interface KeyOptions {
  readonly kty: string | undefined
  readonly alg: string | undefined
  readonly crv: string | undefined
  readonly bits: number | undefined
  readonly tags: readonly string[]
}

const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }
const secretMembers = ['k', 'd', 'priv'] as const
const materialMembers = [...secretMembers, 'x', 'y', 'n', 'e', 'p', 'q', 'dp', 'dq', 'qi', 'pub'] as const
const mostBytes = 64 * 1024

/** The type of key that an algorithm is for; what it does not know is for the service to judge. */
function ktyFor(alg: string | undefined): string | undefined {
  if (alg === undefined) return undefined
  if (/^(A\d+GCM|HS\d+)$/.test(alg)) return 'oct'
  if (/^(RS|PS)\d+$|^RSA-/.test(alg)) return 'RSA'
  if (/^ES\d+$/.test(alg)) return 'EC'
  if (alg === 'EdDSA') return 'OKP'
  if (/^ML-?DSA-?44$/.test(alg)) return 'AKP'
  return undefined
}

/** What to ask for when a key is generated: the algorithm alone says its type and curve. @throws UsageError */
export function generateRequest({ kty, alg, crv, bits, tags }: KeyOptions): KeyRequest {
  const type = kty ?? ktyFor(alg)
  if (type === undefined) throw new UsageError('say which kind of key: --alg ALG, or --kty TYPE')
  const curve = crv ?? curves[alg ?? '']
  return {
    kty: type,
    ...(alg !== undefined && { alg }),
    ...(curve !== undefined && { crv: curve }),
    ...(bits !== undefined && { bits }),
    ...(tags.length > 0 && { tags }),
  }
}

/**
 * What to send for the key of a JWK file (RFC 7517). Members that say nothing about the material (`kid`, `use`,
 * `key_ops`) stay behind: the service names keys itself.
 * @throws StartupError for what is not one whole private or secret key
 */
export function importRequest(file: string, options: Pick<KeyOptions, 'alg' | 'tags'>): KeyRequest {
  const jwk = readJwk(file)
  const text = (name: string): string | undefined => {
    const value = jwk[name]
    if (value === undefined || typeof value === 'string') return value
    throw new StartupError(`${file}: ${name} is not text`)
  }
  const kty = text('kty')
  if (kty === undefined) throw new StartupError(`${file}: there is no kty: is it one JWK?`)
  // Without any of these the service would make a new key, and the file would seem to be imported.
  if (!secretMembers.some((name) => text(name) !== undefined)) {
    throw new StartupError(`${file}: holds no private or secret key`)
  }
  const alg = options.alg ?? text('alg')
  const crv = text('crv')
  const material: Partial<Record<(typeof materialMembers)[number], string>> = {}
  for (const name of materialMembers) {
    const value = text(name)
    if (value !== undefined) material[name] = value
  }
  return {
    kty,
    ...(alg !== undefined && { alg }),
    ...(crv !== undefined && { crv }),
    ...(options.tags.length > 0 && { tags: options.tags }),
    ...material,
  }
}

function readJwk(file: string): Readonly<Record<string, unknown>> {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new StartupError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
  let json: unknown
  try {
    json = text.length <= mostBytes ? JSON.parse(text) : undefined
  } catch {
    // The parser's own message shows a part of the text, which may be a key.
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    return json as Readonly<Record<string, unknown>>
  }
  throw new StartupError(`${file}: is not a JWK (one JSON object)`)
}
