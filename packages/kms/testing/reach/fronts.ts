import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { acmeClient, type HttpHost } from '@warder/authority/testing'
import { issue, pool, requestContext, requestMetadata, sendSigned } from '@warder/external-stores/testing'
import { outsider, toDer } from '../../pki/testing/pki-scene.ts'
import type { Answer, Caller } from '../client.ts'
import type { Started, StartOptions } from '../start.ts'
import { acmeAccount, cloudPrincipals } from './holders.ts'
import { type Draw, messages, type Request } from './requests.ts'
import { bytesOfReply } from './rest-requests.ts'
import type { Thing, World } from './world.ts'

// Principals without a login: AWS KMS and Azure Managed HSM, to which keys are granted, and an account of ACME, which
// reaches certificates of its own names alone.

const [aws, azure] = cloudPrincipals
const cloudAuthority = await issue('Azure clients')
const cloudClient = await issue(pool, cloudAuthority)

export const frontOptions = {
  partners: { azure: cloudAuthority.certificatePem },
  config: {
    'aws_xks_config.aws_xks_enable': true,
    'azure_ekm_config.azure_ekm_enable': true,
    'azure_ekm_config.azure_ekm_ca_cert_file': 'in the test',
    'azure_ekm_config.azure_ekm_client_names': [pool],
    acme_allow_private_networks: true,
  },
} as const satisfies StartOptions

type Send = (operation: string, id: string, body: object) => Promise<Answer>

/** A ciphertext of a cloud, from when it had the right to encrypt. */
interface CloudToken {
  readonly thing: Thing
  readonly body: object
}

export interface Fronts {
  /** Operations of a principal, by their names. */
  readonly operations: ReadonlyMap<string, readonly string[]>
  request(draw: Draw, by: string, operation: string): Request
}

/** Adds to the world what the fronts need. */
export async function makeFronts(kms: Started, host: HttpHost, world: World): Promise<Fronts> {
  const alice = world.user('alice')
  const done = async (answer: Promise<Answer>) => {
    const { status, text, json } = await answer
    assert.ok(status < 300, text)
    return json
  }
  const credential = await done(
    kms.user('admin').post('/v1/external-stores/aws/access-keys', { region: 'eu-west-1' }),
  )
  const sendAws: Send = (operation, id, body) =>
    sendSigned(
      kms.with({}),
      `/aws/kms/xks/v1/${operation === 'health' ? operation : `keys/${id}/${operation}`}`,
      { requestMetadata: requestMetadata('x'), ...body },
      { credential },
    )
  const pooled = kms.presenting(cloudClient.certificatePem, cloudClient.keyPem)
  const sendAzure: Send = (operation, id, body) =>
    pooled.post(
      `/azureekm/${operation === 'info' ? operation : `${id}/${operation}`}?api-version=0.1-preview`,
      {
        request_context: requestContext,
        ...body,
      },
    )
  const tokens = new Map<string, CloudToken[]>([
    [aws, []],
    [azure, []],
  ])
  for (const [by, name] of [
    [aws, 'bound'],
    [aws, 'rotated'],
    [azure, 'aes'],
    [azure, 'wrapping'],
  ] as const) {
    const thing = world.find(name)
    const change = { unique_identifier: thing.id, user_id: by, operation_types: ['encrypt'] }
    await done(alice.post('/access/grant', change))
    const plaintext = randomBytes(32)
    const body =
      by === aws
        ? await done(
            sendAws('encrypt', thing.id, {
              plaintext: plaintext.toString('base64'),
              encryptionAlgorithm: 'AES_GCM',
            }),
          ).then(({ ciphertextDataIntegrityValue: _, ...parts }) => ({
            ...parts,
            encryptionAlgorithm: 'AES_GCM',
          }))
        : await done(
            sendAzure('wrapkey', thing.id, { alg: 'A256KW', value: plaintext.toString('base64url') }),
          ).then(({ value }) => ({ alg: 'A256KW', value }))
    await done(alice.post('/access/revoke', change))
    tokens.get(by)?.push({ thing, body })
    world.tokens.push({ thing, plaintext })
  }

  function cloudBody(
    draw: Draw,
    by: string,
    operation: string,
  ): { readonly body: object; readonly id: string } {
    const { thing, body } = draw.one(tokens.get(by) ?? [])
    const id = draw.chance(0.6) ? thing.id : draw.one(world.things).id
    const plaintext = draw.one(messages)
    if (operation === 'decrypt' || operation === 'unwrapkey') return { id, body }
    if (operation === 'encrypt')
      return { id, body: { plaintext: plaintext.toString('base64'), encryptionAlgorithm: 'AES_GCM' } }
    return {
      id,
      body: operation === 'wrapkey' ? { alg: 'A256KW', value: Buffer.alloc(16).toString('base64url') } : {},
    }
  }

  const acme = await makeAcme(kms, host, world, alice)
  const operations = new Map<string, readonly string[]>([
    [aws, ['health', 'metadata', 'encrypt', 'decrypt'].map((name) => `aws.xks.${name}`)],
    [azure, ['info', 'metadata', 'wrapkey', 'unwrapkey'].map((name) => `azure.ekm.${name}`)],
    [acmeAccount, [...acme.keys()]],
  ])
  return {
    operations,
    request(draw, by, operation) {
      if (by === acmeAccount) {
        const run = acme.get(operation) ?? assert.fail(operation)
        // The addresses of a directory have the id of its authority.
        return toRequest(operation, `${operation} ${world.authority.id}`, () => run(draw))
      }
      const verb = operation.slice(operation.lastIndexOf('.') + 1)
      const { id, body } = cloudBody(draw, by, verb)
      const send = by === aws ? sendAws : sendAzure
      return toRequest(operation, `${operation} ${id} ${JSON.stringify(body)}`, () => send(verb, id, body))
    },
  }
}

function toRequest(operation: string, what: string, run: () => Promise<Answer>): Request {
  return {
    operation,
    what,
    async run() {
      const answer = await run()
      return {
        ...{ sent: [], signed: messages, sentText: what, got: bytesOfReply(answer), gotText: answer.text },
        succeeded: answer.status < 300,
      }
    },
  }
}

/** Requests of an account of ACME that controls `localhost` and no other name. */
async function makeAcme(kms: Started, host: HttpHost, world: World, alice: Caller) {
  const { authority } = world
  const path = `/v1/pki/authorities/${authority.id}/acme`
  assert.equal((await alice.call('PUT', path, { json: {} })).status, 200)
  const binding = await alice.post(`${path}/credentials`, {})
  const client = acmeClient(kms.with({}), authority.id)
  assert.equal((await client.register(binding.json)).status, 201)
  const account = client.kid?.split('/').at(-1) ?? assert.fail('no account')
  // One that is not used yet can be deleted.
  const { json: unused } = await alice.post(`${path}/credentials`, {})
  Object.assign(world.acme, { credential: unused.kid, account })
  const order = (): Promise<Answer> => {
    const identifiers = [{ type: 'dns', value: 'localhost' }]
    return client.post(client.url('new-order'), { identifiers })
  }
  const toUrl = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const finalize = async (names: readonly string[]): Promise<Answer> => {
    const made = await order()
    if (made.status !== 201) return made
    const [authorization] = made.json.authorizations
    const { challenges } = (await client.post(authorization, '')).json
    const challenge = challenges.find(({ type }: { readonly type: string }) => type === 'http-01')
    host.answers.set(challenge.token, `${challenge.token}.${client.key.thumbprint}`)
    await client.post(challenge.url, {})
    const { csr } = await outsider(
      '',
      names.map((name) => `DNS:${name}`),
    )
    const ready = await client.post(`${made.headers.location}/finalize`, { csr: toUrl(toDer(csr)) })
    return ready.status === 200 ? client.post(ready.json.certificate, '') : ready
  }
  const certificates = world.things.filter(({ name }) => name.startsWith('certificate of'))
  // A principal with `certify` may have closed the directory.
  const whenOpen = (run: (draw: Draw) => Promise<Answer>) => async (draw: Draw) => {
    const open = await alice.call('PUT', path, { json: {} })
    return open.status === 200 ? run(draw) : open
  }
  const requests: readonly (readonly [string, (draw: Draw) => Promise<Answer>])[] = [
    ['acme.new_order', order],
    [
      'acme.finalize',
      (draw) => finalize(draw.one([['localhost'], ['alice.example'], ['localhost', 'carol.example']])),
    ],
    [
      'acme.revoke_cert',
      async (draw) => {
        const { owner, id } = draw.one(certificates)
        const headers = { accept: 'application/x-pem-file' }
        const { text } = await world.user(owner).call('GET', `/v1/pki/certificates/${id}`, { headers })
        return client.post(client.url('revoke-cert'), { certificate: toUrl(toDer(text)) })
      },
    ],
    ['acme.account', () => client.post(String(client.kid), {})],
  ]
  return new Map(requests.map(([name, run]) => [name, whenOpen(run)] as const))
}
