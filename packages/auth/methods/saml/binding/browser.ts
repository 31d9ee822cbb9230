import { randomBytes } from 'node:crypto'
import type { IncomingRequest } from '@warder/server'
import { escapeXml } from '../xml/write.ts'

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
