import { UsageError } from '../cli/command.ts'
import { requireNoNames } from '../cli/options.ts'
import { readKid } from '../kms/key-argument.ts'
import { type KmsContext, kmsVerb } from '../kms/verb.ts'
import { enableGoogle, newGoogleKey } from './google-enable.ts'
import { selfTestGoogle } from './google-self-test.ts'
import { testGoogle } from './google-test.ts'
import { disable, fetchStoreState, formatState, readAction } from './store.ts'

const actions = ['enable', 'show', 'test', 'disable', 'new-key'] as const

async function show(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'google')
  const facts = state.enabled
    ? [
        `  key service URL   ${state.kacls_url}`,
        `  wraps with        ${state.wrapping_key}`,
        `  signs with        ${state.signing_key}`,
      ]
    : []
  context.show(state, [formatState(state), ...facts])
  return 0
}

export const googleVerb = kmsVerb({
  name: 'google',
  words: actions.slice(0, 4).join('|'),
  summary: 'keys of Google Workspace: Drive, Docs, Meet, Calendar, Gmail (client-side encryption)',
  about: `enable   makes the wrapping key (or takes --key) and the key that signs tokens, lets Google's users use them, switches
         the interface on in the settings, and says what to enter in the Admin console
show     whether it is on, and its address and keys
test     plays an exchange as Google's clients have it against the started service, with tokens of a trial;
         --rehearse plays every operation with tokens as Google's, against a Warder that is thrown away
disable  cuts Google off, on every node from the next request on; enable lets it in again
new-key  makes the next version of the wrapping key; what older ones wrapped opens as before`,
  examples: [
    "warder external google enable --domain example.com --idp 'https://idp.example,https://idp.example/jwks,CLIENT'",
    'warder external google test',
    'warder external google test --rehearse',
    'warder external google disable',
  ],
  options: {
    domain: { type: 'text', value: 'D', help: 'the Google Workspace domain that this is for' },
    idp: {
      type: 'list',
      value: 'I',
      help: 'identity provider of the users: issuer,key set,audience…; also several times',
    },
    admin: {
      type: 'list',
      value: 'EMAIL',
      help: 'who may open exported data, import, and wrap private keys; also several times',
    },
    peer: {
      type: 'list',
      value: 'URL',
      help: 'another key service that keys may be moved from and to; also several times',
    },
    key: { type: 'text', value: 'KEY', help: 'an AES-256 key of yours (default: a new one)' },
    rehearse: {
      type: 'flag',
      help: 'test: with the settings of the home, in a home of its own; the service that runs is left alone',
    },
  },
  parse({ domain, idp, admin, peer, key, rehearse }, names) {
    const action = readAction('google', names, actions)
    requireNoNames(names.slice(1))
    if (rehearse && action !== 'test') throw new UsageError('--rehearse goes with test')
    switch (action) {
      case 'enable': {
        if (domain === undefined)
          throw new UsageError('say the Google Workspace domain: --domain example.com')
        if (idp.length === 0)
          throw new UsageError("say who knows the users: --idp 'issuer,key set (https),audience'")
        const kid = key === undefined ? undefined : readKid(key)
        const request = { domain, providers: idp, administrators: admin, peers: peer, key: kid }
        return (context) => enableGoogle(context, request)
      }
      case 'show':
        return show
      case 'test':
        return rehearse ? selfTestGoogle : testGoogle
      case 'disable':
        return (context) => disable(context, 'google')
      case 'new-key':
        return newGoogleKey
    }
  },
})
