export {
  awsRights,
  principal,
  requestMetadata,
  sendSigned,
} from '../aws/fixtures/xks.ts'
export { azureRights, issue, pool, requestContext } from '../azure/fixtures/ekm.ts'
export { administrator, dataKey, findIssuer } from '../google/testing/world.ts'
export { tenant } from '../microsoft/testing/world.ts'
export { generatePair, type IssuerServer, signedBy, startIssuers } from './issuers.ts'
