import { UsageError } from '../cli/command.ts'
import { requireNoNames } from '../cli/options.ts'
import { readKid } from '../kms/key-argument.ts'
import { type KmsContext, kmsVerb } from '../kms/verb.ts'
import { enableAzure } from './azure-enable.ts'
import { testAzure } from './azure-test.ts'
import { disable, fetchStoreState, formatState, readAction } from './store.ts'

const actions = ['enable', 'show', 'test', 'disable'] as const

async function show(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'azure')
  const paths = Array.isArray(state.paths) ? state.paths.map((path) => `  ${state.endpoint}${path}`) : []
  context.show(state, [formatState(state), ...paths])
  return 0
}

export const azureVerb = kmsVerb({
  name: 'azure',
  words: actions.join('|'),
  summary: 'keys of Azure Managed HSM (external key management)',
  about: `enable   makes an RSA-3072 key (or takes --key), lets the pool use it, writes the authorities of its certificate into
         the home, switches the interface on in the settings, and says what to enter at Azure
show     whether it is on
test     plays a whole exchange as Managed HSM has it against the started service
disable  cuts Azure off, on every node from the next request on; enable lets it in again
The pool is told by its client certificate: az keyvault ekm-connection certificate show --hsm-name HSM > pool.json`,
  examples: [
    'warder external azure enable --certificates pool.json',
    'warder external azure test',
    'warder external azure disable',
  ],
  options: {
    certificates: {
      type: 'text',
      value: 'F',
      help: 'what `az keyvault ekm-connection certificate show` printed',
    },
    key: {
      type: 'text',
      value: 'KEY',
      help: 'an AES-256 key, or the private half of an RSA pair of yours (default: a new one)',
    },
    prefix: { type: 'text', value: 'P', help: 'what follows /azureekm/ in the path (default nothing)' },
  },
  parse({ certificates, key, prefix = '' }, names) {
    const action = readAction('azure', names, actions)
    requireNoNames(names.slice(1))
    switch (action) {
      case 'enable': {
        if (certificates === undefined)
          throw new UsageError(
            'say where the certificates of the pool are: az keyvault ekm-connection certificate show … > pool.json, then --certificates pool.json',
          )
        const request = { certificates, prefix, key: key === undefined ? undefined : readKid(key) }
        return (context) => enableAzure(context, request)
      }
      case 'show':
        return show
      case 'test':
        return (context) => testAzure(context, prefix)
      case 'disable':
        return (context) => disable(context, 'azure')
    }
  },
})
