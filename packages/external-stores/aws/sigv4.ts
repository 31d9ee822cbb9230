import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { BoundedMap } from '@warder/base'

/** The scheme of the header Authorization, and the algorithm in the text that is signed. */
export const algorithm = 'AWS4-HMAC-SHA256'

/** Members of the header Authorization (AWS Signature Version 4, "Authentication with the Authorization header"). */
export interface SignatureHeader {
  readonly accessKeyId: string
  /** `YYYYMMDD` */
  readonly date: string
  readonly region: string
  readonly service: string
  /** Lower case, in order, each once. */
  readonly signedHeaders: readonly string[]
  /** 32 bytes. */
  readonly signature: Buffer
}

const credentialForm = /^([^/\s]{1,128})\/(\d{8})\/([a-z0-9-]{1,64})\/([a-z0-9-]{1,64})\/aws4_request$/
const signedHeadersForm = /^[a-z0-9!#$%&'*+.^_`|~-]+(?:;[a-z0-9!#$%&'*+.^_`|~-]+)*$/
const signatureForm = /^[0-9a-f]{64}$/
const maxSignedHeaders = 64

type Scope = Omit<SignatureHeader, 'signature'>
const signatureMember = 'Signature='
const maxScopes = 64
/** Parts before the signature, which are the same in all requests of a day. */
const scopes = new BoundedMap<string, Scope>(maxScopes)

/** @returns an error message for an invalid header; it does not repeat the header */
export function readSignatureHeader(header: string | undefined): SignatureHeader | string {
  const at = header === undefined ? -1 : header.lastIndexOf(signatureMember)
  const scope = header === undefined || at === -1 ? undefined : scopes.get(header.slice(0, at))
  if (header === undefined || scope === undefined) return readWhole(header)
  const signature = header.slice(at + signatureMember.length)
  if (!signatureForm.test(signature)) return readWhole(header)
  return { ...scope, signature: Buffer.from(signature, 'hex') }
}

function readWhole(header: string | undefined): SignatureHeader | string {
  if (header === undefined) return 'The header Authorization is missing.'
  if (!header.startsWith(`${algorithm} `)) return `The header Authorization must be of ${algorithm}.`
  const parts: Record<string, string> = Object.create(null)
  for (const part of header.slice(algorithm.length + 1).split(',')) {
    const text = part.trim()
    const equals = text.indexOf('=')
    const name = text.slice(0, Math.max(0, equals))
    if (!(name === 'Credential' || name === 'SignedHeaders' || name === 'Signature') || name in parts)
      return 'The header Authorization must contain Credential, SignedHeaders and Signature exactly once.'
    parts[name] = text.slice(equals + 1)
  }
  const { Credential = '', SignedHeaders = '', Signature = '' } = parts
  const [, accessKeyId = '', date = '', region = '', service = ''] = credentialForm.exec(Credential) ?? []
  if (accessKeyId === '') return 'Credential in the header Authorization is malformed.'
  if (!signedHeadersForm.test(SignedHeaders)) return 'SignedHeaders in the header Authorization is malformed.'
  const signedHeaders = SignedHeaders.split(';')
  if (signedHeaders.length > maxSignedHeaders) return 'Too many headers are signed.'
  if (signedHeaders.some((name, index) => index > 0 && name <= (signedHeaders[index - 1] ?? '')))
    return 'SignedHeaders must be sorted and without duplicates.'
  for (const needed of ['host', 'x-amz-date'])
    if (!signedHeaders.includes(needed)) return `The header ${needed} must be signed.`
  if (!signatureForm.test(Signature)) return 'Signature in the header Authorization is malformed.'
  const scope: Scope = { accessKeyId, date, region, service, signedHeaders }
  // Only if the signature is the last member: the text after it belongs to the parsed values.
  if (header.endsWith(`${signatureMember}${Signature}`))
    scopes.set(header.slice(0, -Signature.length - signatureMember.length), scope)
  return { ...scope, signature: Buffer.from(Signature, 'hex') }
}

/** The bytes of a request that a signature covers, as received. */
export interface SignedRequest {
  readonly method: string
  /** Not decoded; contains only characters that a canonical URI does not encode. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** A signed header is missing in the request. */
export class UnsentHeader extends Error {}

/**
 * The canonical request, without query. The path is used unchanged: encoding and normalization have no effect on a path
 * without characters that need encoding and without dot segments.
 * @throws UnsentHeader
 */
export function canonicalRequest(
  { method, path, headers, body }: SignedRequest,
  signed: readonly string[],
): string {
  let lines = ''
  for (const name of signed) {
    const value = headers[name]
    if (value === undefined) throw new UnsentHeader(name)
    lines += `${name}:${trimAll(value)}\n`
  }
  return `${method}\n${path}\n\n${lines}\n${signed.join(';')}\n${hash('sha256', body, 'hex')}`
}

/** Trims a value, and replaces sequences of blanks by one. */
function trimAll(value: string): string {
  return value.includes('  ') || value.includes('\t') ? value.replaceAll(/[ \t]+/g, ' ').trim() : value.trim()
}

/** The key that signs for a day, a region and a service. */
export function signingKey(secret: Uint8Array, date: string, region: string, service: string): Buffer {
  const seed = Buffer.concat([Buffer.from('AWS4'), secret])
  let key = hmac(seed, date)
  seed.fill(0)
  for (const text of [region, service, 'aws4_request']) key = hmac(key, text)
  return key
}

/** @param at the header X-Amz-Date */
export function signCanonicalRequest(
  key: Uint8Array,
  { date, region, service }: Pick<SignatureHeader, 'date' | 'region' | 'service'>,
  at: string,
  canonical: string,
): Buffer {
  const scope = `${date}/${region}/${service}/aws4_request`
  return hmac(key, `${algorithm}\n${at}\n${scope}\n${hash('sha256', canonical, 'hex')}`)
}

/** In constant time. */
export function sameSignature(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** The date parsed last: all requests of one second have the same. */
let lastDate: { readonly text: string; readonly at: number } | undefined

/** Unix milliseconds of `YYYYMMDDTHHMMSSZ`; undefined when it is not of that form. */
export function amzDate(text: string | undefined): number | undefined {
  if (text !== undefined && text === lastDate?.text) return lastDate.at
  const found = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text ?? '')
  if (found === null) return undefined
  const [, year, month, day, hour, minute, second] = found
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (text === undefined || Number.isNaN(at)) return undefined
  lastDate = { text, at }
  return at
}
