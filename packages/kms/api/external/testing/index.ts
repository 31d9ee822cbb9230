export {
  awsRights,
  principal,
  requestMetadata,
  sendSigned,
} from '../aws/fixtures/xks.ts'
export { azureRights, issue, pool, requestContext } from '../azure/fixtures/ekm.ts'
export { administrator, dataKey, issuerOf } from '../google/testing/world.ts'
export { tenant } from '../microsoft/testing/world.ts'
export { type IssuerServer, pairOf, signedBy, startIssuers } from './issuers.ts'
