import { randomBytes } from 'node:crypto'
import type { KmsContext } from '@warder/command-line/kms'
import {
  cleanUp,
  createAzureContext,
  type EkmAnswer,
  fetchStoreState,
  getAzurePath,
  grantKey,
  partners,
  postEkm,
  readTestClient,
  requireServing,
  type Step,
  showSteps,
  type TestClient,
} from 'warder/testing'

/** Tests the complete exchange of Managed HSM, with a temporary key. */
export async function testAzure(context: KmsContext, prefix: string): Promise<number> {
  const { kms, endpoints: places } = context
  requireServing(await fetchStoreState(context, 'azure'))
  const identity = readTestClient(places.home, 'azure', 'warder external azure enable')
  const { kid } = await kms.call('crypto.keys.create', {
    body: { kty: 'RSA', bits: 2048, alg: 'RSA-OAEP-256', tags: ['warder-external-test'] },
  })
  const root = getAzurePath(prefix)
  const createClient = (as: TestClient | undefined): Ask => {
    return (rest, body) =>
      postEkm(places.kms, `${root}/${rest}`, { request_context: createAzureContext(), ...body }, as)
  }
  try {
    const done = await runSteps(context, createClient(identity), createClient(undefined), kid)
    return showSteps(context, 'azure', done)
  } finally {
    await cleanUp(context, () => kms.call('crypto.keys.destroy', { path: { kid } }), `the test key ${kid}`)
  }
}

const { testClient } = partners.azure

type Ask = (rest: string, body: object) => Promise<EkmAnswer>

/** @param askUncertified sends requests without a certificate */
async function runSteps(
  context: KmsContext,
  ask: Ask,
  askUncertified: Ask,
  kid: string,
): Promise<readonly Step[]> {
  const done: Step[] = []
  const addStep = (what: string, problem: string | undefined): void => {
    done.push({ what, problem })
  }
  const expect = ({ status, json }: EkmAnswer, expected: number, code?: string): string | undefined =>
    status === expected && (code === undefined || json.code === code)
      ? undefined
      : `${status} ${json.code ?? ''} ${json.message ?? ''}`.trim()
  addStep('info', expect(await ask('info', {}), 200))
  const refused = expect(await askUncertified('info', {}), 401, 'Unauthorized')
  addStep('a request without a client certificate is refused', refused)
  addStep('a key without a grant is not found', expect(await ask(`${kid}/metadata`, {}), 404, 'KeyNotFound'))
  await grantKey(context, kid, [`azure:${testClient}`])
  const metadata = await ask(`${kid}/metadata`, {})
  const { key_type, key_size } = metadata.json
  const right = key_type === 'RSA' && key_size === 2048 ? undefined : `${key_type} ${key_size}`
  addStep('metadata', expect(metadata, 200) ?? right)
  const value = randomBytes(32).toString('base64url')
  const wrapped = await ask(`${kid}/wrapkey`, { alg: 'RSA-OAEP-256', value })
  addStep('wrap key', expect(wrapped, 200))
  const opened = await ask(`${kid}/unwrapkey`, { alg: 'RSA-OAEP-256', value: wrapped.json.value })
  const same = opened.json.value === value ? undefined : 'the key differs'
  addStep('unwrap key', expect(opened, 200) ?? same)
  const unknown = await ask(`${kid}/wrapkey`, { alg: 'RSA1_5', value })
  addStep('an unsupported algorithm is refused', expect(unknown, 400, 'UnsupportedAlgorithm'))
  return done
}
