import { requireNoNames, UsageError } from '@warder/command-line'
import { type KmsContext, kmsVerb, readKid } from '@warder/command-line/kms'
import { enableAzure } from './azure-enable.ts'
import { testAzure } from './health.ts'
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
  summary: 'External key management of Azure Managed HSM',
  about: `enable   creates an RSA-3072 key (or uses --key), grants the pool its use, writes the authorities of its certificate
         into the home, enables the interface in the settings, and shows the values to enter at Azure
show     shows whether it is enabled
test     sends the request info of Managed HSM to the running service, as a test client
disable  rejects all requests of Azure on every node from now on; enable accepts them again
The client certificate identifies the pool: az keyvault ekm-connection certificate show --hsm-name HSM > pool.json`,
  examples: [
    'warder external azure enable --certificates pool.json',
    'warder external azure test',
    'warder external azure disable',
  ],
  options: {
    certificates: {
      type: 'text',
      value: 'F',
      help: 'output of `az keyvault ekm-connection certificate show`',
    },
    key: {
      type: 'text',
      value: 'KEY',
      help: 'an AES-256 key, or the private half of an RSA pair of yours (default: a new one)',
    },
    prefix: { type: 'text', value: 'P', help: 'path after /azureekm/ (default none)' },
  },
  parse({ certificates, key, prefix = '' }, names) {
    const action = readAction('azure', names, actions)
    requireNoNames(names.slice(1))
    switch (action) {
      case 'enable': {
        if (certificates === undefined)
          throw new UsageError(
            'give the certificates of the pool: az keyvault ekm-connection certificate show … > pool.json, then --certificates pool.json',
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
