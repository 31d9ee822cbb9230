import { createHmac, randomBytes } from 'node:crypto'
import { StartupError } from '@warder/base'
import {
  fetchStoreState,
  type KmsContext,
  openClient,
  requireServing,
  type Step,
  showSteps,
} from 'warder/testing'
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

async function runSteps(
  ask: AskKacls,
  token: (claims: Claims) => Promise<string>,
  kacls: string,
): Promise<readonly Step[]> {
  const done: Step[] = []
  const addStep = (what: string, problem: string | undefined): void => {
    done.push({ what, problem })
  }
  const status = await ask('status')
  addStep(
    'status',
    describeProblem(status, 200) ?? (status.json.server_type === 'KACLS' ? undefined : 'no KACLS'),
  )
  const certs = await ask('certs')
  addStep('certs', describeProblem(certs, 200) ?? (Array.isArray(certs.json.keys) ? undefined : 'no key set'))
  const resource = `warder-trial/${randomBytes(8).toString('hex')}`
  const signBoth = async (claims: Claims) => ({
    authentication: await token({ resource_name: resource, ...claims }),
    authorization: await token({ resource_name: resource, perimeter_id: 'trial', ...claims }),
    reason: "{client:'warder' op:'test'}",
  })
  const dataKey = randomBytes(32)
  const key = dataKey.toString('base64')
  addStep('wrap without tokens is refused', describeProblem(await ask('wrap', { key }), 401))
  const wrapped = await ask('wrap', { ...(await signBoth({})), key })
  addStep('wrap', describeProblem(wrapped, 200))
  const { wrapped_key } = wrapped.json
  const opened = await ask('unwrap', { ...(await signBoth({ role: 'reader' })), wrapped_key })
  addStep('unwrap', describeProblem(opened, 200) ?? (opened.json.key === key ? undefined : 'the key differs'))
  const verifier = await token({ role: 'verifier', resource_name: resource })
  const digest = await ask('digest', { authorization: verifier, wrapped_key })
  const data = `ResourceKeyDigest:${resource}:trial`
  const hash = createHmac('sha256', dataKey).update(data).digest('base64')
  const same = digest.json.resource_key_hash === hash ? undefined : 'the hash differs'
  addStep('digest', describeProblem(digest, 200) ?? same)
  const reader = await ask('wrap', { ...(await signBoth({ role: 'reader' })), key })
  addStep('wrap by a reader is refused', describeProblem(reader, 403))
  const elsewhere = await ask('unwrap', {
    ...(await signBoth({ resource_name: `${resource}x` })),
    wrapped_key,
  })
  addStep('unwrap for another resource is refused', describeProblem(elsewhere, 400))
  const outside = await ask('unwrap', { ...(await signBoth({ perimeter_id: 'outside' })), wrapped_key })
  addStep('unwrap in another perimeter is refused', describeProblem(outside, 403))
  const otherUser = {
    ...(await signBoth({})),
    authentication: await token({ resource_name: resource, email: 'b@example.com' }),
  }
  addStep(
    'tokens of two people are refused',
    describeProblem(await ask('unwrap', { ...otherUser, wrapped_key }), 403),
  )
  await testDelegation()
  await testPrivileged()
  return done

  /** Tests delegation: a user lets another user, outside the organisation, open one resource. */
  async function testDelegation(): Promise<void> {
    const helper = 'helper@example.net'
    const { authentication } = await signBoth({})
    const named = await token({ resource_name: resource, role: 'reader', delegated_to: helper })
    const given = await ask('delegate', { authentication, authorization: named, reason: 'trial' })
    addStep('delegate', describeProblem(given, 200))
    const reading = await token({
      ...{ resource_name: resource, perimeter_id: 'trial', role: 'reader' },
      delegated_to: helper,
    })
    const tokens = { authentication: given.json.delegated_authentication, authorization: reading }
    const read = await ask('unwrap', { ...tokens, reason: 'trial', wrapped_key })
    addStep(
      'unwrap by delegation',
      describeProblem(read, 200) ?? (read.json.key === key ? undefined : 'the key differs'),
    )
    const { authorization } = await signBoth({ role: 'reader' })
    const misused = await ask('unwrap', { ...tokens, authorization, reason: 'trial', wrapped_key })
    addStep('a delegated token without its authorization is refused', describeProblem(misused, 403))
  }

  /** Tests that trial tokens have no rights of administrators or of other key services. */
  async function testPrivileged(): Promise<void> {
    const { authentication } = await signBoth({})
    const asked = { authentication, resource_name: resource, reason: 'trial' }
    const refused = [
      ['privilegedwrap', { ...asked, key }],
      ['privilegedunwrap', { ...asked, wrapped_key }],
      ['wrapprivatekey', { authentication, perimeter_id: '', private_key: key }],
      ['privilegedprivatekeydecrypt', { authentication, wrapped_private_key: wrapped_key }],
      ['rewrap', { authorization: await token({ resource_name: resource }), original_kacls_url: kacls }],
    ] as const
    for (const [operation, body] of refused) {
      const { status } = await ask(operation, body)
      addStep(
        `${operation} without an administrator`,
        status === 401 || status === 403 || status === 400 ? undefined : `${status}`,
      )
    }
  }
}
