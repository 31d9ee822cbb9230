export { runCommand } from '../cli/run-command.ts'
export { createTerminal } from '../cli/terminal.ts'
export { UsageError } from '../cli/usage-error.ts'
export { type HttpsClient, httpsClient, openClient } from '../client/https-client.ts'
export { commands } from '../commands.ts'
export { formatGrantee } from '../external/aws-enable.ts'
export { type AwsCredential, signAwsRequest } from '../external/aws-signing.ts'
export { type EkmAnswer, postEkm } from '../external/azure-client.ts'
export {
  createAzureContext,
  getAzurePath,
  listKeyNames,
  requiresClientCertificate,
} from '../external/health.ts'
export { trialName } from '../external/microsoft-enable.ts'
export { partners, readTestClient, type TestClient } from '../external/partner-files.ts'
export {
  cleanUp,
  fetchStoreState,
  grantKey,
  requireServing,
  type Step,
  showSteps,
} from '../external/store.ts'
export { configure } from '../installation/configuration.ts'
export { findInitialPasswordFile, readEndpoints, toServer } from '../installation/endpoints.ts'
export { minOpenFiles } from '../installation/open-files.ts'
export { getForeignSettings, getSettings } from '../installation/services.ts'
export { createTempEnvironment, withStartedServices } from '../installation/temp-installation.ts'
export { configureBoth } from '../installation/together.ts'
export { type Endpoint, openConnection, type Transport, transports } from '../kmip/connection.ts'
export { logIn, readAccount } from '../kms/account.ts'
export { type KmsCommandParts, kmsCommand } from '../kms/command.ts'
export { type KmsContext, kmsVerb } from '../kms/verb.ts'
export { ApiServer } from '../kubernetes/testing/api-server.ts'
export { newUser, runInProcess } from './in-process.ts'
export { cleanEnvironment, type Installation, startInstallation, temporaryHome } from './installation.ts'
