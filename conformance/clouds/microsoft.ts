import { constants, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto'
import { StartupError } from '@warder/base'
import { openClient } from '@warder/command-line/https-client'
import type { KmsContext } from '@warder/command-line/kms'
import {
  fetchStoreState,
  listKeyNames,
  requireServing,
  type Step,
  showSteps,
  trialName,
} from 'warder/testing'
import { signWithKey } from './trial-token.ts'

interface DkeAnswer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
  readonly challenge: string
}
type Ask = (path: string, token?: string, body?: object) => Promise<DkeAnswer>

/**
 * Tests the complete exchange of Office. A trial key in the settings signs the token, which decrypts only with the key
 * `warder-trial` (docs/adr/google-and-microsoft.md).
 */
export async function testMicrosoft(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'microsoft')
  requireServing(state)
  const { trial_key: signing, service_url: serviceUrl } = state
  if (typeof signing !== 'string' || !listKeyNames(state).includes(trialName))
    throw new StartupError(
      `the settings of the server have no trial key: set ms_dke_trial_key, and ${trialName}=KEY in ms_dke_keys`,
    )
  const http = openClient(context.endpoints.kms)
  const ask: Ask = async (path, token, body) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await http.ask(`/ms_dke/${path}`, { headers, ...(body !== undefined && { json: body }) })
    const { json } = answer
    const challenge = String(answer.headers['www-authenticate'] ?? '')
    return {
      status: answer.status,
      json: typeof json === 'object' && json !== null ? { ...json } : {},
      challenge,
    }
  }
  const token = (audience: string): Promise<string> =>
    signWithKey(context, signing, {
      iss: `${serviceUrl}/trial`,
      aud: audience,
      email: 'trial@example.com',
    })
  try {
    return showSteps(context, 'microsoft', await runSteps(ask, token, listKeyNames(state)))
  } finally {
    http.close()
  }
}

function describeProblem({ status, json }: DkeAnswer, expected: number): string | undefined {
  return status === expected ? undefined : `${status} ${json.description ?? ''}`.trim()
}

async function runSteps(
  ask: Ask,
  token: (audience: string) => Promise<string>,
  names: readonly string[],
): Promise<readonly Step[]> {
  const done: Step[] = []
  const addStep = (what: string, problem: string | undefined): void => {
    done.push({ what, problem })
  }
  for (const name of names) {
    const given = await ask(name)
    addStep(`the public key of ${name}`, describeProblem(given, 200) ?? checkKeyShape(given.json))
  }
  const { json } = await ask(trialName)
  const { key } = json as { readonly key?: Readonly<Record<string, unknown>> }
  const kid =
    String(key?.kid ?? '')
      .split('/')
      .at(-1) ?? ''
  const path = `${trialName}/${kid}/decrypt`
  const secret = randomBytes(32)
  const body = { alg: 'RSA-OAEP-256', value: key === undefined ? '' : encryptFor(key, secret) }
  const refused = await ask(path, undefined, body)
  const [, audience = ''] =
    /^Bearer resource="([^"]*)", authorization="https:[^"]*", realm="/.exec(refused.challenge) ?? []
  addStep(
    'a request without a token is refused, with the address of the token issuer',
    describeProblem(refused, 401) ?? (audience === '' ? refused.challenge : undefined),
  )
  const opened = await ask(path, await token(audience), body)
  const same = opened.json.value === secret.toString('base64') ? undefined : 'the value differs'
  addStep('decrypt', describeProblem(opened, 200) ?? same)
  const elsewhere = await ask(path, await token('https://elsewhere.example'), body)
  addStep('a token for another audience is refused', describeProblem(elsewhere, 401))
  const other = names.find((name) => name !== trialName) ?? 'none'
  const foreign = await ask(`${other}/${kid}/decrypt`, await token(audience), body)
  addStep('a trial token for a key of users is refused', describeProblem(foreign, 403))
  const unknown = await ask(path, await token(audience), { ...body, alg: 'RSA1_5' })
  addStep('an unsupported algorithm is refused', describeProblem(unknown, 400))
  return done
}

function checkKeyShape(json: Readonly<Record<string, unknown>>): string | undefined {
  const { key } = json as { readonly key?: Readonly<Record<string, unknown>> }
  const right = key?.kty === 'RSA' && key.alg === 'RS256' && typeof key.e === 'number'
  return right ? undefined : 'it does not have the form that Office expects'
}

function encryptFor({ n, e }: Readonly<Record<string, unknown>>, data: Uint8Array): string {
  const hex = Number(e).toString(16)
  const jwk = {
    kty: 'RSA',
    n: Buffer.from(String(n), 'base64').toString('base64url'),
    e: Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url'),
  }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  return publicEncrypt({ key, padding, oaepHash: 'sha256' }, data).toString('base64')
}
