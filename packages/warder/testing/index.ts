export { commands } from '../commands.ts'
export { formatGrantee } from '../external/aws-enable.ts'
export { type EkmAnswer, postEkm } from '../external/azure-client.ts'
export {
  createAzureContext,
  getAzurePath,
  listKeyNames,
  requiresClientCertificate,
  signXksRequest,
  type XksCredential,
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
export { minOpenFiles } from '../installation/open-files.ts'
export { getForeignSettings, getSettings } from '../installation/services.ts'
export { createTempEnvironment, withStartedServices } from '../installation/temp-installation.ts'
export { configureBoth } from '../installation/together.ts'
export { type Endpoint, openConnection, type Transport, transports } from '../kmip/connection.ts'
export { ApiServer } from '../kubernetes/testing/api-server.ts'
export { newUser, runInProcess } from './in-process.ts'
export {
  cleanEnvironment,
  type Installation,
  killAfter,
  runWarder,
  startInstallation,
  temporaryHome,
} from './installation.ts'
