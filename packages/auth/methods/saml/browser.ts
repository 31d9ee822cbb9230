import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import type { IncomingRequest } from '@warder/server'
import { escapeXml } from './xml.ts'

/**
 * Binds a login to the browser that started it. SameSite is None, because the form of the identity provider comes
 * from another site.
 */
const cookieName = '_ea_saml'
/** Seconds that a login may take at the identity provider. */
export const loginSeconds = 600

const attributes = 'Secure; HttpOnly; SameSite=None; Path=/'
export const loginCookie = (requestId: string): string =>
  `${cookieName}=${requestId}; ${attributes}; Max-Age=${loginSeconds}`
export const removedLoginCookie = `${cookieName}=; ${attributes}; Max-Age=0`

/** An XML ID with 128 random bits. */
export function newRequestId(): string {
  return `_${randomBytes(16).toString('hex')}`
}

const requestIdForm = /^_[0-9a-f]{32}$/

/** Returns the request ID that this browser started and that the form returns; undefined when they differ. */
export function matchRequest(request: IncomingRequest, relayState: string): string | undefined {
  const [cookie, other] = request.cookies(cookieName)
  const isOne = cookie !== undefined && other === undefined && requestIdForm.test(cookie)
  return isOne && cookie === relayState ? cookie : undefined
}

/**
 * A page that forwards to a URL. A redirect is not possible: after a form from another site, browsers omit cookies
 * with SameSite=Strict until a page of this site navigates.
 */
export function forwardingPage(url: string): string {
  const target = escapeXml(url)
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="refresh" content="0;url=${target}">`,
    '<title>Signed in</title></head>',
    `<body><p>You are signed in. <a href="${target}">Continue</a></p></body></html>`,
    '',
  ].join('\n')
}

/**
 * The same for a program on the user's computer, with a confirmation: any local program could have started the login
 * in the browser.
 */
export function confirmationPage(url: string, username: string): string {
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><title>Signed in</title></head>',
    `<body><p>A program on this computer wants to act as <strong>${escapeXml(username)}</strong>.</p>`,
    `<p><a href="${escapeXml(url)}">Continue</a> if you have just started it. Otherwise close this page.</p></body></html>`,
    '',
  ].join('\n')
}

export const pageHeaders = { 'Content-Security-Policy': "default-src 'none'", 'Cache-Control': 'no-store' }

const maxFields = 16
const formType = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i
const [ampersand, equals] = ['&'.charCodeAt(0), '='.charCodeAt(0)]
const maxNameLength = 64

/**
 * Reads the fields of a form as they were sent: percent-encoded, and as views of the body. A large field is decoded
 * by its reader, outside of the event loop.
 * @throws failure('bad_request' | 'unsupported_media_type')
 */
export function readForm(request: IncomingRequest): ReadonlyMap<string, Uint8Array> {
  if (!formType.test(request.headers['content-type'] ?? ''))
    throw failure(
      'unsupported_media_type',
      'The content type of the body must be application/x-www-form-urlencoded.',
    )
  const { body } = request
  const fields = new Map<string, Uint8Array>()
  for (let start = 0; start <= body.length; ) {
    const next = body.indexOf(ampersand, start)
    const part = body.subarray(start, next < 0 ? body.length : next)
    if (fields.size === maxFields)
      throw failure('bad_request', 'Invalid request body: it has too many fields.')
    const split = part.indexOf(equals)
    const name = textOfField(split < 0 ? part : part.subarray(0, split), maxNameLength)
    if (fields.has(name)) throw failure('bad_request', 'Invalid request body: a field appears twice.')
    fields.set(name, split < 0 ? part.subarray(part.length) : part.subarray(split + 1))
    start = next < 0 ? body.length + 1 : next + 1
  }
  return fields
}

/**
 * Returns a short field as it was sent. A longer value is truncated, so that it does not match any expected
 * value.
 */
export function textOfField(field: Uint8Array | undefined, maxLength = 256): string {
  return Buffer.from(field?.subarray(0, maxLength + 1) ?? []).toString('latin1')
}
