/** Files that OpenSSL wrote, for the tests of those who read such files. */
export { p256Request, pssRequest, sha1Request } from './certificate-requests.ts'
export { legacyFile, modernFile } from './pkcs12-files.ts'
