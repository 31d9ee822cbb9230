import { UsageError } from '@warder/command-line'
import { type KmsCommandParts, kmsCommand, kmsVerb } from '@warder/command-line/kms'
import { testAws } from './aws.ts'
import { testAzure } from './azure.ts'
import { testGoogle } from './google.ts'
import { selfTestGoogle } from './google-self-test.ts'
import { testMicrosoft } from './microsoft.ts'

function requireNoNames([name]: readonly string[]): void {
  if (name !== undefined) throw new UsageError(`unknown argument '${name}'`)
}

const aws = kmsVerb({
  name: 'aws',
  words: '',
  examples: ['npm run clouds -- aws --home DIR'],
  summary: 'AWS KMS, with a temporary access key and a temporary key',
  about:
    'Encrypts and decrypts like AWS KMS, and checks that requests are refused without a grant or with a wrong signature.',
  options: {
    region: { type: 'text', value: 'R', help: 'AWS region of the key store (default eu-west-1)' },
    prefix: { type: 'text', value: 'P', help: 'path before /kms/xks/v1 (default /aws)' },
  },
  parse({ prefix = '/aws', region = 'eu-west-1' }, names) {
    requireNoNames(names)
    return (context) => testAws(context, prefix, region)
  },
})

const azure = kmsVerb({
  name: 'azure',
  words: '',
  examples: ['npm run clouds -- azure --home DIR'],
  summary: 'Azure Managed HSM, with a temporary key',
  about:
    'Wraps and unwraps like Managed HSM, and checks that requests without a certificate or a grant are refused.',
  options: { prefix: { type: 'text', value: 'P', help: 'path after /azureekm/ (default none)' } },
  parse({ prefix = '' }, names) {
    requireNoNames(names)
    return (context) => testAzure(context, prefix)
  },
})

const google = kmsVerb({
  name: 'google',
  words: '',
  examples: ['npm run clouds -- google --home DIR', 'npm run clouds -- google --rehearse --home DIR'],
  summary: "clients of Google Workspace, with tokens of the settings' trial key",
  about: `Wraps and unwraps like the clients of Google Workspace. --rehearse instead runs every operation, also those of
administrators, mail and migration, with mock identity providers on a temporary installation.`,
  options: {
    rehearse: { type: 'flag', help: 'in a temporary installation with the settings of the home' },
  },
  parse({ rehearse }, names) {
    requireNoNames(names)
    return rehearse ? selfTestGoogle : testGoogle
  },
})

const microsoft = kmsVerb({
  name: 'microsoft',
  words: '',
  examples: ['npm run clouds -- microsoft --home DIR'],
  summary: 'Office, with a token of the trial key of the settings',
  about:
    'Decrypts like Office with the key warder-trial, and checks that other tokens, keys and algorithms are refused.',
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return testMicrosoft
  },
})

export const cloudsParts: KmsCommandParts = {
  name: 'clouds',
  summary: 'The exchanges of the four clouds with a running service',
  about: `Sends the requests of a cloud to the running service and checks each answer. The interface of the cloud must be
enabled: \`warder external\`. What a run creates it removes again.`,
  verbs: [aws, azure, google, microsoft],
  example: `  npm run clouds -- aws --home DIR
  npm run clouds -- google --rehearse --home DIR`,
}

export const clouds = kmsCommand(cloudsParts)
