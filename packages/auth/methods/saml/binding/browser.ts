import { randomBytes } from 'node:crypto'
import type { IncomingRequest } from '@warder/foundation/operations'
import { escapeXml } from '../xml/write.ts'

/** Ties a login to the browser that began it. The form of an identity provider comes from another site. */
const cookieName = '_ea_saml'
/** Seconds that a login may take at the identity provider. */
export const loginSeconds = 600

const attributes = 'Secure; HttpOnly; SameSite=None; Path=/'
export const loginCookie = (requestId: string): string =>
  `${cookieName}=${requestId}; ${attributes}; Max-Age=${loginSeconds}`
export const removedLoginCookie = `${cookieName}=; ${attributes}; Max-Age=0`

/** An ID of XML, of 128 random bits. */
export function newRequestId(): string {
  return `_${randomBytes(16).toString('hex')}`
}

const requestIdForm = /^_[0-9a-f]{32}$/

/** The request that this browser began and that comes back with the form; undefined when they differ. */
export function matchRequest(request: IncomingRequest, relayState: string): string | undefined {
  const [cookie, other] = request.cookies(cookieName)
  const isOne = cookie !== undefined && other === undefined && requestIdForm.test(cookie)
  return isOne && cookie === relayState ? cookie : undefined
}

/**
 * A page that goes on to a URL by itself. A redirect would not do: after a form from another site browsers leave out
 * cookies with SameSite=Strict until a page of ours has navigated.
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
 * The same for a program on the user's computer, which anybody could have had the browser begin the login for: the user
 * says yes first.
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
