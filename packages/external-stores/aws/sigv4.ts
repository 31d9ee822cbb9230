import { timingSafeEqual } from 'node:crypto'
import { BoundedMap } from '@warder/base'
import { algorithm, type SigningScope } from '@warder/outbound/sigv4'

/** Members of the header Authorization (AWS Signature Version 4, "Authentication with the Authorization header"). */
export interface SignatureHeader extends SigningScope {
  readonly accessKeyId: string
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

/** In constant time. */
export function sameSignature(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
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
