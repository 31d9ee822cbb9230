import assert from 'node:assert/strict'
import {
  type Authorities,
  makeAuthorities,
  outsider,
  type Started,
  type StartOptions,
  startKms,
} from '@warder/kms/testing'
import { type AcmeClient, acmeClient, type Credential } from './client.ts'
import { type HttpHost, httpHost } from './http-host.ts'
import type { AccountKey } from './signer.ts'

/** A service with an authority that is open for ACME, and a host that answers challenges for `localhost`. */
export interface StartedAcme extends AsyncDisposable {
  readonly kms: Started
  readonly host: HttpHost
  readonly authorities: Authorities
  /** A credential of alice, to whom the authority belongs. */
  credential(): Promise<Credential>
  client(key?: AccountKey): AcmeClient
  /** A client with an account. */
  account(key?: AccountKey): Promise<AcmeClient>
  /** An order for `localhost` whose challenge was answered. @returns its address */
  readyOrder(client: AcmeClient, name?: string): Promise<string>
  /** The certificate of an order that is ready: PEM with its chain. */
  certificate(client: AcmeClient, order: string, name?: string): Promise<string>
}

export async function startAcme(
  options: { readonly settings?: object; readonly kms?: StartOptions; readonly config?: object } = {},
): Promise<StartedAcme> {
  await using opened = new AsyncDisposableStack()
  const host = opened.use(await httpHost())
  const config = { acme_allow_private_networks: true, acme_http_port: host.port, ...options.config }
  const kms = opened.use(
    await startKms({ ...options.kms, config: { ...options.kms?.config, ...config } as never }),
  )
  const alice = kms.user('alice')
  const authorities = await makeAuthorities(alice)
  const path = `/v1/pki/authorities/${authorities.issuing.id}/acme`
  const open = await alice.call('PUT', path, { json: options.settings ?? {} })
  assert.equal(open.status, 200, open.text)
  const running = opened.move()
  const credential = async (): Promise<Credential> => {
    const made = await alice.post(`${path}/credentials`, {})
    assert.equal(made.status, 201, made.text)
    return made.json
  }
  const client = (key?: AccountKey) => acmeClient(kms.with({}), authorities.issuing.id, key)
  return {
    kms,
    host,
    authorities,
    credential,
    client,
    async account(key) {
      const one = client(key)
      const made = await one.register(await credential())
      assert.equal(made.status, 201, made.text)
      return one
    },
    async readyOrder(one, name = 'localhost') {
      const order = await one.post(one.url('new-order'), { identifiers: [{ type: 'dns', value: name }] })
      assert.equal(order.status, 201, order.text)
      const authorization = await one.post(order.json.authorizations[0], '')
      const challenge = authorization.json.challenges.find(
        (each: { type: string }) => each.type === 'http-01',
      )
      host.answers.set(challenge.token, `${challenge.token}.${one.key.thumbprint}`)
      const answered = await one.post(challenge.url, {})
      assert.equal(answered.json.status, 'valid', answered.text)
      return String(order.headers.location)
    },
    async certificate(one, order, name = 'localhost') {
      const { csr } = await outsider(`CN=${name}`, [`DNS:${name}`])
      const der = csr.replaceAll(/-----[A-Z ]+-----|\s/g, '')
      const finalized = await one.post(`${order}/finalize`, {
        csr: Buffer.from(der, 'base64').toString('base64url'),
      })
      assert.equal(finalized.status, 200, finalized.text)
      const found = await one.post(finalized.json.certificate, '')
      assert.equal(found.status, 200, found.text)
      return found.text
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
