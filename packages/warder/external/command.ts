import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { awsVerb } from './aws.ts'
import { azureVerb } from './azure.ts'
import { googleVerb } from './google.ts'
import { microsoftVerb } from './microsoft.ts'

export const externalParts: KmsCommandParts = {
  name: 'external',
  summary: 'Let clouds use keys that stay here, or cut them off',
  about: `A cloud sends requests to encrypt and decrypt to this service; the keys never leave it. A cloud can use only keys that
are granted to its names (aws:…, google:…, microsoft:…, azure:…). Requires a crypto officer or a user with the right
\`external\`, or the default user if there are no officers.`,
  verbs: [awsVerb, googleVerb, microsoftVerb, azureVerb],
  example: `  warder external aws enable --region eu-west-1
  warder external aws test
  warder external aws disable`,
}

export const external = kmsCommand(externalParts)
