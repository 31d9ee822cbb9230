import { formatTable, printable, requireNoNames, UsageError } from '@warder/command-line'
import { type KmsContext, kmsVerb, readKid } from '@warder/command-line/kms'
import { enableAws } from './aws-enable.ts'
import { testAws } from './health.ts'
import { disable, fetchStoreState, formatState, readAction } from './store.ts'

const actions = ['enable', 'show', 'test', 'disable', 'new-credential', 'remove-credential'] as const

async function show(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'aws')
  const keys = await context.kms.call('external.aws.keys.list')
  const rows = keys.map(({ id, uri_prefix, region, created_at, created_by, ended }) => [
    id,
    region,
    `${uri_prefix}/kms/xks/v1`,
    created_at.slice(0, 10),
    created_by,
    ended === null ? 'active' : `ended: ${ended.replaceAll('_', ' ')}`,
  ])
  context.show({ ...state, access_keys: keys }, [
    formatState(state),
    ...(Array.isArray(state.client_names)
      ? [
          `  and a client certificate of ${state.client_names.map((name) => printable(String(name))).join(', ')}`,
        ]
      : []),
    ...formatTable(
      ['access key', 'region', 'path', 'made', 'by', 'state'],
      rows,
      'No access key: AWS KMS cannot authenticate. `warder external aws enable` creates one.',
    ),
  ])
  return 0
}

async function newCredential({ kms, show }: KmsContext, region: string, prefix: string): Promise<number> {
  const made = await kms.call('external.aws.keys.create', { body: { region, uri_prefix: prefix } })
  show(made, [
    `Access key ID           ${made.id}`,
    `Secret access key       ${made.secret}`,
    'It is shown only once. Enter both at AWS KMS (Edit external key store). Older access keys work until you remove them:',
    '  warder external aws remove-credential ID',
  ])
  return 0
}

async function removeCredential({ kms, show }: KmsContext, id: string): Promise<number> {
  await kms.call('external.aws.keys.delete', { path: { id } })
  show({ removed: id }, [`Requests with the access key ${printable(id)} are rejected from now on.`])
  return 0
}

function requireRegion(region: string | undefined): string {
  if (region === undefined) throw new UsageError('give the AWS region of the key store: --region eu-west-1')
  return region
}

export const awsVerb = kmsVerb({
  name: 'aws',
  words: actions.slice(0, 4).join('|'),
  summary: 'External key store of AWS KMS, for S3, DynamoDB and other services',
  about: `enable   creates a key (or uses --key), grants AWS its use, creates an access key, enables the interface in the
         settings, and shows the values to enter at AWS
show     shows whether it is enabled, and the access keys of AWS
test     sends the health request of AWS KMS to the running service, signed by a temporary access key
disable  rejects all requests of AWS on every node from now on; enable accepts them again
new-credential, remove-credential ID    replace the access key without an interruption`,
  examples: [
    'warder external aws enable --region eu-west-1',
    'warder external aws enable --region eu-west-1 --key KEY --principal arn:aws:iam::123456789012:role/backup',
    'warder external aws test',
    'warder external aws disable',
  ],
  options: {
    region: { type: 'text', value: 'R', help: 'AWS region of the key store' },
    key: { type: 'text', value: 'KEY', help: 'an AES-256 key of yours (default: a new one)' },
    principal: {
      type: 'list',
      value: 'ARN',
      help: 'principal at AWS that may use the key; repeatable (default: all that its policy at AWS permits)',
    },
    prefix: { type: 'text', value: 'P', help: 'path before /kms/xks/v1 (default /aws)' },
    'client-ca': {
      type: 'text',
      value: 'F',
      help: 'PEM file of Amazon Trust Services: requests then also need the client certificate of AWS KMS',
    },
    out: {
      type: 'text',
      value: 'F',
      help: 'writes the credential to a configuration file for the AWS console instead of printing it',
    },
  },
  parse({ region, key, principal, prefix = '/aws', out, 'client-ca': clientCa }, names) {
    const action = readAction('aws', names, actions)
    const [, ...rest] = names
    const id = action === 'remove-credential' ? rest.shift() : undefined
    requireNoNames(rest)
    switch (action) {
      case 'enable': {
        const request = {
          region: requireRegion(region),
          prefix,
          key: key === undefined ? undefined : readKid(key),
          principals: principal,
          out,
          clientCa,
        }
        return (context) => enableAws(context, request)
      }
      case 'show':
        return show
      case 'test':
        return (context) => testAws(context, prefix, region ?? 'eu-west-1')
      case 'disable':
        return (context) => disable(context, 'aws')
      case 'new-credential': {
        const where = requireRegion(region)
        return (context) => newCredential(context, where, prefix)
      }
      case 'remove-credential': {
        if (id === undefined) throw new UsageError('name the access key: see warder external aws show')
        return (context) => removeCredential(context, id)
      }
    }
  },
})
