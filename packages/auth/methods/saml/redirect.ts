import { constants, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { SamlSettings } from './settings.ts'
import { rsaSha256, signerAmong } from './signature.ts'
import { bindings, escapeXml, nameIdFormats, namespaces, utf8, writeTime } from './xml.ts'
import { messageBounds, XmlRefused } from './xml-gate.ts'

/**
 * An AuthnRequest (SAML 2.0 core §3.4.1).
 * @param id `_` and 32 hexadecimal digits, of 128 random bits
 * @param now Unix seconds
 */
export function authnRequest(
  settings: Pick<SamlSettings, 'idp_sso_url' | 'sp_acs_url' | 'sp_entity_id' | 'idp_nameid_format'>,
  id: string,
  now: number,
): string {
  const format = settings.idp_nameid_format
  const policy =
    format === undefined ? '' : `<samlp:NameIDPolicy Format="${escapeXml(format)}" AllowCreate="true"/>`
  const attributes = {
    'xmlns:samlp': namespaces.protocol,
    'xmlns:saml': namespaces.assertion,
    ID: id,
    Version: '2.0',
    IssueInstant: writeTime(now),
    Destination: settings.idp_sso_url,
    AssertionConsumerServiceURL: settings.sp_acs_url,
    ProtocolBinding: bindings.post,
  }
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
  const issuer = `<saml:Issuer Format="${nameIdFormats.entity}">${escapeXml(settings.sp_entity_id)}</saml:Issuer>`
  return `<samlp:AuthnRequest${written.join('')}>${issuer}${policy}</samlp:AuthnRequest>`
}

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

type MessageField = 'SAMLRequest' | 'SAMLResponse'

/**
 * The URL that carries a message by HTTP-Redirect (SAML 2.0 bindings §3.4.4.1): deflated, in base64, signed with
 * RSA-SHA256 over the three parameters in their order.
 */
export async function redirectUrl(
  target: string,
  message: { readonly field: MessageField; readonly xml: string; readonly relayState: string | undefined },
  key: KeyObject,
): Promise<string> {
  const { field, xml, relayState } = message
  const deflated = (await deflate(Buffer.from(xml))).toString('base64')
  const parts = [
    `${field}=${encodeURIComponent(deflated)}`,
    ...(relayState === undefined ? [] : [`RelayState=${encodeURIComponent(relayState)}`]),
    `SigAlg=${encodeURIComponent(rsaSha256)}`,
  ]
  const signature = await signQuery(Buffer.from(parts.join('&')), key)
  const query = [...parts, `Signature=${encodeURIComponent(signature.toString('base64'))}`].join('&')
  return `${target}${target.includes('?') ? '&' : '?'}${query}`
}

/** Signs on the thread pool: an RSA signature takes 1 to 2 ms. */
function signQuery(data: Buffer, key: KeyObject): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign('sha256', data, { key, padding: constants.RSA_PKCS1_PADDING }, (error, signature) =>
      error === null ? resolve(signature) : reject(error),
    )
  })
}

/** A message that was received by HTTP-Redirect. */
export interface RedirectMessage {
  readonly field: MessageField
  readonly xml: string
  readonly relayState: string | undefined
}

const names = ['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature', 'SAMLEncoding'] as const

/**
 * Reads a message from a query, and verifies its signature over the parameters exactly as they were sent (§3.4.4.1).
 * @param query without question mark
 * @throws XmlRefused; also for a deflate bomb, once it exceeds the maximum message length
 */
export async function readRedirect(query: string, keys: readonly KeyObject[]): Promise<RedirectMessage> {
  const raw = rawParameters(query)
  const field = raw.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse'
  const message = raw.get(field)
  const [algorithm, signature] = [raw.get('SigAlg'), raw.get('Signature')]
  if (message === undefined || (raw.has('SAMLRequest') && raw.has('SAMLResponse')) || raw.has('SAMLEncoding'))
    throw new XmlRefused('the query must have exactly one message')
  if (algorithm === undefined || signature === undefined) throw new XmlRefused('the message is not signed')
  const state = raw.get('RelayState')
  const data = [
    `${field}=${message}`,
    ...(state === undefined ? [] : [`RelayState=${state}`]),
    `SigAlg=${algorithm}`,
  ]
  const signer = signerAmong(
    keys,
    decodeComponent(algorithm),
    Buffer.from(data.join('&')),
    base64(decodeComponent(signature)),
  )
  if (signer === undefined) throw new XmlRefused('the signature is invalid')
  return {
    field,
    xml: await inflateMessage(base64(decodeComponent(message))),
    relayState: state && decodeComponent(state),
  }
}

async function inflateMessage(bytes: Uint8Array): Promise<string> {
  let text: Buffer
  try {
    text = await inflate(bytes, { maxOutputLength: messageBounds.length })
  } catch {
    throw new XmlRefused('the message is not deflated, or exceeds the size limit')
  }
  return utf8(text)
}

function rawParameters(query: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const part of query.split('&', 64)) {
    const equals = part.indexOf('=')
    const name = equals < 0 ? part : part.slice(0, equals)
    if (!names.some((known) => known === name)) continue
    if (found.has(name)) throw new XmlRefused('a parameter appears twice')
    found.set(name, part.slice(name.length + 1))
  }
  return found
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', '%20'))
  } catch {
    throw new XmlRefused('the query is not valid percent-encoding')
  }
}

function base64(text: string): Buffer {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw new XmlRefused('a parameter is not base64')
  return Buffer.from(text, 'base64')
}
