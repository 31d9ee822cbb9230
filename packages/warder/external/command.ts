import { type KmsCommandParts, kmsCommand } from '../kms/command.ts'
import { awsVerb } from './aws.ts'
import { azureVerb } from './azure.ts'
import { googleVerb } from './google.ts'
import { microsoftVerb } from './microsoft.ts'

export const externalParts: KmsCommandParts = {
  name: 'external',
  summary: 'lets clouds use keys that stay here, and cuts them off',
  about: `A cloud asks this service to encrypt and decrypt; the keys never leave it. A cloud uses the keys that were granted to
its names (aws:…, google:…, microsoft:…, azure:…) and no others. For crypto officers and whom they granted \`external\`; where there are none,
for the default user.`,
  verbs: [awsVerb, googleVerb, microsoftVerb, azureVerb],
  example: `  warder external aws enable --region eu-west-1
  warder external aws test
  warder external aws disable`,
}

export const external = kmsCommand(externalParts)
