/** Files that OpenSSL wrote and the program itself, certificates made for a test. */
export { issue, issuerOf, now, type Party, party, year } from './authorities.ts'
export { p256Request, pssRequest, sha1Request } from './certificate-requests.ts'
export { missingOpenssl, type OpensslFolder, type OpensslRun, opensslFolder, pem } from './openssl.ts'
export { legacyFile, modernFile } from './pkcs12-files.ts'
