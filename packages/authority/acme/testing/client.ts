import assert from 'node:assert/strict'
import type { Answer, Caller } from '@warder/kms/testing'
import { type AccountKey, accountKey, externalBinding, signed } from './signer.ts'

/** An ACME client that does exactly what the test specifies, so that a test can break any rule. */
export interface AcmeClient {
  readonly key: AccountKey
  /** Address of the account, once there is one. */
  readonly kid: string | undefined
  /** Of `path` below the authority: `new-order`. */
  url(path: string): string
  nonce(): Promise<string>
  /** A request as it should be; `header` replaces members of the protected header. */
  post(url: string, payload: unknown, header?: object): Promise<Answer>
  /** Sends a body as it is. */
  send(url: string, body: unknown, contentType?: string): Promise<Answer>
  /** Makes the account, or finds it. */
  register(binding?: Credential, payload?: object): Promise<Answer>
}

export interface Credential {
  readonly kid: string
  readonly hmac_key: string
}

/** Base of the addresses in answers (`startKms` does not know its port). */
export const base = 'https://localhost'

/** @param baseUrl of the addresses in answers */
export function acmeClient(
  caller: Caller,
  authority: string,
  key: AccountKey = accountKey(),
  baseUrl: string = base,
): AcmeClient {
  let kid: string | undefined
  const url = (path: string): string => `${baseUrl}/acme/${authority}/${path}`
  const toPath = (address: string): string => {
    assert.ok(address.startsWith(`${baseUrl}/`), address)
    return address.slice(baseUrl.length)
  }
  const nonce = async (): Promise<string> => {
    const { headers, status } = await caller.call('HEAD', toPath(url('new-nonce')))
    assert.equal(status, 200)
    return String(headers['replay-nonce'])
  }
  const send: AcmeClient['send'] = (address, body, contentType = 'application/jose+json') =>
    caller.call('POST', toPath(address), {
      bytes: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      headers: { 'content-type': contentType },
    })
  const post: AcmeClient['post'] = async (address, payload, header = {}) => {
    const signer = kid === undefined ? { jwk: key.jwk } : { kid }
    return send(address, signed(key, { nonce: await nonce(), url: address, ...signer, ...header }, payload))
  }
  return {
    key,
    get kid() {
      return kid
    },
    url,
    nonce,
    post,
    send,
    async register(credential, payload = {}) {
      const address = url('new-account')
      const binding =
        credential === undefined
          ? {}
          : { externalAccountBinding: externalBinding(credential, key.jwk, address) }
      const header = { nonce: await nonce(), url: address, jwk: key.jwk }
      const answer = await send(address, signed(key, header, { ...binding, ...payload }))
      if (answer.status === 201 || answer.status === 200) kid = String(answer.headers.location)
      return answer
    },
  }
}
