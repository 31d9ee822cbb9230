import { randomBytes, randomUUID } from 'node:crypto'
import type { KmsContext } from '../kms/verb.ts'
import { type EkmAnswer, postEkm } from './azure-client.ts'
import { partners, readTestClient, type TestClient } from './partner-files.ts'
import { cleanUp, grantKey, requireServing, type Step, showSteps, stateOf } from './store.ts'

/** A whole exchange as Managed HSM has it, with a key that is made for it and destroyed again. */
export async function testAzure(context: KmsContext, prefix: string): Promise<number> {
  const { kms, places } = context
  requireServing(await stateOf(context, 'azure'))
  const identity = readTestClient(places.home, 'azure', 'warder external azure enable')
  const { kid } = await kms.call('crypto.keys.create', {
    body: { kty: 'RSA', bits: 2048, alg: 'RSA-OAEP-256', tags: ['warder-external-test'] },
  })
  const root = prefix === '' ? '/azureekm' : `/azureekm/${prefix}`
  const asker = (as: TestClient | undefined): Ask => {
    return (rest, body) =>
      postEkm(places.kms, `${root}/${rest}`, { request_context: requestContext(), ...body }, as)
  }
  try {
    const done = await steps(context, asker(identity), asker(undefined), kid)
    return showSteps(context, 'azure', done)
  } finally {
    await cleanUp(context, () => kms.call('crypto.keys.destroy', { path: { kid } }), `the test key ${kid}`)
  }
}

const { testClient } = partners.azure

function requestContext() {
  return { request_id: randomUUID(), correlation_id: randomUUID(), pool_name: testClient }
}

type Ask = (rest: string, body: object) => Promise<EkmAnswer>

/** @param stranger asks without a certificate */
async function steps(context: KmsContext, ask: Ask, stranger: Ask, kid: string): Promise<readonly Step[]> {
  const done: Step[] = []
  const step = (what: string, problem: string | undefined): void => {
    done.push({ what, problem })
  }
  const expect = ({ status, json }: EkmAnswer, wanted: number, code?: string): string | undefined =>
    status === wanted && (code === undefined || json.code === code)
      ? undefined
      : `${status} ${json.code ?? ''} ${json.message ?? ''}`.trim()
  step('info', expect(await ask('info', {}), 200))
  const refused = expect(await stranger('info', {}), 401, 'Unauthorized')
  step('without a client certificate it is refused', refused)
  step('a key without a grant is not there', expect(await ask(`${kid}/metadata`, {}), 404, 'KeyNotFound'))
  await grantKey(context, kid, [`azure:${testClient}`])
  const metadata = await ask(`${kid}/metadata`, {})
  const { key_type, key_size } = metadata.json
  const right = key_type === 'RSA' && key_size === 2048 ? undefined : `${key_type} ${key_size}`
  step('metadata', expect(metadata, 200) ?? right)
  const value = randomBytes(32).toString('base64url')
  const wrapped = await ask(`${kid}/wrapkey`, { alg: 'RSA-OAEP-256', value })
  step('wrap key', expect(wrapped, 200))
  const opened = await ask(`${kid}/unwrapkey`, { alg: 'RSA-OAEP-256', value: wrapped.json.value })
  const same = opened.json.value === value ? undefined : 'the key is another'
  step('unwrap key', expect(opened, 200) ?? same)
  const unknown = await ask(`${kid}/wrapkey`, { alg: 'RSA1_5', value })
  step('an algorithm that the API has not is refused', expect(unknown, 400, 'UnsupportedAlgorithm'))
  return done
}
