import { createHmac, randomBytes } from 'node:crypto'
import { StartupError } from '@warder/base'
import { openClient } from '@warder/command-line/https-client'
import type { KmsContext } from '@warder/command-line/kms'
import { fetchStoreState, requireServing, type Step, showSteps } from 'warder/testing'
import { type AskKacls, createKaclsClient, describeProblem } from './google-answers.ts'
import { signWithKey } from './trial-token.ts'

type Claims = Readonly<Record<string, unknown>>

/**
 * Tests the complete exchange of Google's clients. A trial key in the settings signs the tokens, for resources that Google
 * does not use (docs/adr/google-and-microsoft.md).
 */
export async function testGoogle(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'google')
  requireServing(state)
  const { trial_key: signing } = state
  if (typeof signing !== 'string')
    throw new StartupError(
      'the settings of the server have no trial key: set google_cse_trial_key to the id of an RS256 key that is granted to google:* for sign',
    )
  const http = openClient(context.endpoints.kms)
  const ask = createKaclsClient(http)
  const kaclsUrl = String(state.kacls_url)
  const token = (claims: Claims): Promise<string> =>
    signWithKey(context, signing, {
      iss: `${kaclsUrl}/trial`,
      aud: 'warder-trial',
      email: 'trial@example.com',
      kacls_url: kaclsUrl,
      role: 'writer',
      ...claims,
    })
  try {
    return showSteps(context, 'google', await runSteps(ask, token, kaclsUrl))
  } finally {
    http.close()
  }
}

/** Data shared by the steps of the test. */
interface Trial {
  readonly ask: AskKacls
  readonly token: (claims: Claims) => Promise<string>
  readonly kaclsUrl: string
  readonly steps: Step[]
  readonly resource: string
  readonly dataKey: Buffer
  /** The data key in base64. */
  readonly key: string
}

async function runSteps(
  ask: AskKacls,
  token: (claims: Claims) => Promise<string>,
  kaclsUrl: string,
): Promise<readonly Step[]> {
  const resource = `warder-trial/${randomBytes(8).toString('hex')}`
  const dataKey = randomBytes(32)
  const trial = { ask, token, kaclsUrl, steps: [], resource, dataKey, key: dataKey.toString('base64') }
  await testDescriptions(trial)
  const wrapped = await testExchange(trial)
  await testRefusals(trial, wrapped)
  await testDelegation(trial, wrapped)
  await testPrivileged(trial, wrapped)
  return trial.steps
}

function addStep({ steps }: Trial, what: string, problem: string | undefined): void {
  steps.push({ what, problem })
}

async function signBoth({ token, resource }: Trial, claims: Claims = {}) {
  return {
    authentication: await token({ resource_name: resource, ...claims }),
    authorization: await token({ resource_name: resource, perimeter_id: 'trial', ...claims }),
    reason: "{client:'warder' op:'test'}",
  }
}

async function testDescriptions(trial: Trial): Promise<void> {
  const status = await trial.ask('status')
  const isKacls = status.json.server_type === 'KACLS' ? undefined : 'no KACLS'
  addStep(trial, 'status', describeProblem(status, 200) ?? isKacls)
  const certs = await trial.ask('certs')
  const hasKeys = Array.isArray(certs.json.keys) ? undefined : 'no key set'
  addStep(trial, 'certs', describeProblem(certs, 200) ?? hasKeys)
}

/** Wraps the data key, unwraps it, and compares its digest. @returns the wrapped key */
async function testExchange(trial: Trial): Promise<unknown> {
  const { ask, token, resource, dataKey, key } = trial
  addStep(trial, 'wrap without tokens is refused', describeProblem(await ask('wrap', { key }), 401))
  const wrapped = await ask('wrap', { ...(await signBoth(trial)), key })
  addStep(trial, 'wrap', describeProblem(wrapped, 200))
  const { wrapped_key } = wrapped.json
  const unwrapped = await ask('unwrap', { ...(await signBoth(trial, { role: 'reader' })), wrapped_key })
  addStep(trial, 'unwrap', describeProblem(unwrapped, 200) ?? compareKey(trial, unwrapped.json.key))
  const verifier = await token({ role: 'verifier', resource_name: resource })
  const digest = await ask('digest', { authorization: verifier, wrapped_key })
  const data = `ResourceKeyDigest:${resource}:trial`
  const hash = createHmac('sha256', dataKey).update(data).digest('base64')
  const same = digest.json.resource_key_hash === hash ? undefined : 'the hash differs'
  addStep(trial, 'digest', describeProblem(digest, 200) ?? same)
  return wrapped_key
}

function compareKey({ key }: Trial, unwrapped: unknown): string | undefined {
  return unwrapped === key ? undefined : 'the key differs'
}

/** Tests requests whose tokens are for another role, resource, perimeter or user. */
async function testRefusals(trial: Trial, wrapped_key: unknown): Promise<void> {
  const { ask, token, resource, key } = trial
  const reader = await ask('wrap', { ...(await signBoth(trial, { role: 'reader' })), key })
  addStep(trial, 'wrap by a reader is refused', describeProblem(reader, 403))
  const otherResource = await signBoth(trial, { resource_name: `${resource}x` })
  const elsewhere = await ask('unwrap', { ...otherResource, wrapped_key })
  addStep(trial, 'unwrap for another resource is refused', describeProblem(elsewhere, 400))
  const otherPerimeter = await signBoth(trial, { perimeter_id: 'outside' })
  const outside = await ask('unwrap', { ...otherPerimeter, wrapped_key })
  addStep(trial, 'unwrap in another perimeter is refused', describeProblem(outside, 403))
  const otherUser = {
    ...(await signBoth(trial)),
    authentication: await token({ resource_name: resource, email: 'b@example.com' }),
  }
  const mixed = await ask('unwrap', { ...otherUser, wrapped_key })
  addStep(trial, 'tokens of two people are refused', describeProblem(mixed, 403))
}

/** Tests delegation: a user lets another user, outside the organisation, open one resource. */
async function testDelegation(trial: Trial, wrapped_key: unknown): Promise<void> {
  const { ask, token, resource } = trial
  const helper = 'helper@example.net'
  const { authentication } = await signBoth(trial)
  const named = await token({ resource_name: resource, role: 'reader', delegated_to: helper })
  const given = await ask('delegate', { authentication, authorization: named, reason: 'trial' })
  addStep(trial, 'delegate', describeProblem(given, 200))
  const reading = await token({
    ...{ resource_name: resource, perimeter_id: 'trial', role: 'reader' },
    delegated_to: helper,
  })
  const tokens = { authentication: given.json.delegated_authentication, authorization: reading }
  const read = await ask('unwrap', { ...tokens, reason: 'trial', wrapped_key })
  addStep(trial, 'unwrap by delegation', describeProblem(read, 200) ?? compareKey(trial, read.json.key))
  const { authorization } = await signBoth(trial, { role: 'reader' })
  const misused = await ask('unwrap', { ...tokens, authorization, reason: 'trial', wrapped_key })
  addStep(trial, 'a delegated token without its authorization is refused', describeProblem(misused, 403))
}

/** Tests that trial tokens have no rights of administrators or of other key services. */
async function testPrivileged(trial: Trial, wrapped_key: unknown): Promise<void> {
  const { ask, token, resource, key, kaclsUrl } = trial
  const { authentication } = await signBoth(trial)
  const privileged = { authentication, resource_name: resource, reason: 'trial' }
  const requests = [
    ['privilegedwrap', { ...privileged, key }],
    ['privilegedunwrap', { ...privileged, wrapped_key }],
    ['wrapprivatekey', { authentication, perimeter_id: '', private_key: key }],
    ['privilegedprivatekeydecrypt', { authentication, wrapped_private_key: wrapped_key }],
    ['rewrap', { authorization: await token({ resource_name: resource }), original_kacls_url: kaclsUrl }],
  ] as const
  for (const [operation, body] of requests) {
    const { status } = await ask(operation, body)
    const refused = status === 401 || status === 403 || status === 400
    addStep(trial, `${operation} without an administrator`, refused ? undefined : `${status}`)
  }
}
