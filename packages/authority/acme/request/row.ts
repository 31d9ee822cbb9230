import { rawReply } from '@warder/server'
import { maxBodyBytes } from './caller.ts'
import type { AcmeEnvironment, AcmeUrls } from './environment.ts'

/** Common part of the rows of all resources. */
export function resourceRow({ errorShape }: AcmeEnvironment) {
  return {
    tag: 'ACME',
    bodyLimit: maxBodyBytes,
    rawBody: true,
    errorShape,
    security: ['acme'],
    foreignParameters: {
      names: 'any',
      because:
        'ACME clients sign the address including its query (RFC 8555 §6.4), which is compared as a whole.',
    },
    replyContentType: 'application/json',
  } as const
}

/** The authenticator has verified the signature of the request. The handler checks what the account may access. */
export const signedByAcme = { name: 'ACME account' } as const

export const resourceErrors = {
  400: 'The request, its nonce or its signature is invalid.',
  403: 'The account is not permitted to do this.',
  404: 'There is no such resource of this account.',
  413: 'The body is larger than 64 KiB.',
  415: 'The content type must be application/jose+json.',
} as const

export interface ResourceReply {
  readonly status?: number
  readonly json?: unknown
  /** PEM instead of JSON. */
  readonly pem?: string
  readonly location?: string
  /** Pairs of link relation and address. */
  readonly links?: readonly (readonly [rel: string, url: string])[]
  readonly retryAfterSeconds?: number
}

/** A reply with the headers that every response has (RFC 8555 §6.5, §7.1). */
export function resourceReply({ nonces }: AcmeEnvironment, urls: AcmeUrls, reply: ResourceReply) {
  const links = [['index', urls.directory] as const, ...(reply.links ?? [])]
  return rawReply({
    status: reply.status ?? 200,
    ...(reply.json !== undefined && { json: reply.json }),
    ...(reply.pem !== undefined && { raw: reply.pem, contentType: 'application/pem-certificate-chain' }),
    headers: {
      'Replay-Nonce': nonces.issue(),
      Link: links.map(([rel, url]) => `<${url}>;rel="${rel}"`),
      ...(reply.location !== undefined && { Location: reply.location }),
      ...(reply.retryAfterSeconds !== undefined && { 'Retry-After': String(reply.retryAfterSeconds) }),
    },
  })
}
